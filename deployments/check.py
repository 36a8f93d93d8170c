"""Checks that `make deploy`, `make worker` and `make run` make first, to fail early with advice.

reports HOST PORT  the reports of runs can be served there
server             a server answers and accepts the credentials
worker POOL TYPE   results can be stored, and an existing work pool takes workers of that type
deployment NAME    the deployment exists, and a worker polls its work pool

A failed check prints one line and ends with exit code 3.
"""

import sys

from gigamind.errors import ServerError
from gigamind.i18n import _, language_of, translator
from gigamind.publish import server

CHECKS = {
    "reports": server.check_reports_port,
    "worker": server.check_worker_can_start,
    "deployment": server.check_deployment,
}


def main(what: str, *arguments: str) -> None:
    """Run a check."""
    if what != "reports" and server.check_server() is None:
        raise ServerError(_("No Prefect server is configured. Set PREFECT_API_URL."))
    if what != "server":
        CHECKS[what](*arguments)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ServerError as error:
        say = translator(language_of())
        print(say(_("Error: {message}", message=error.message)), file=sys.stderr)
        sys.exit(error.exit_code)
