"""What `make deploy`, `make worker` and `make run` see to first, so that each ends at once and says what to do.

reports HOST PORT  the reports of runs can be served there
server             a server answers and accepts our credentials
worker POOL TYPE   results can be stored, and the work pool, where there is one, takes workers of that type
deployment NAME    the deployment is there, and a worker polls its work pool

Ends with one line and exit code 3 where it is not so.
"""

import sys

from gigamind.errors import ServerError
from gigamind.publish import server

CHECKS = {
    "reports": server.check_reports_port,
    "worker": server.check_worker_can_start,
    "deployment": server.check_deployment,
}


def main(what: str, *named: str) -> None:
    """Make the check of that name."""
    if what != "reports" and server.check_server() is None:
        raise ServerError("no Prefect server is configured: set PREFECT_API_URL")
    if what != "server":
        CHECKS[what](*named)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ServerError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
