        statements: list[dict[str, Any]] = []
        if start:
            statements = json.JSONDecoder().raw_decode(prompt, start.start())[0]
        for statement in statements:
            confirmed = self.confirms(answer, statement)
