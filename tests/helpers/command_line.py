"""The command line, called as a user calls it, and a program to tune."""

from click.testing import CliRunner

from dcmaes.cli import main

SPACE = """
[space]
n = { type = "integer", low = -9, high = 9 }
mode = { type = "categorical", choices = ["good", "bad", "it's $(touch pwned); `x` \\"q\\""] }
flag = { type = "binary" }
"""
SPEC = (
    """
command = [
    "sh", "-c", 'test "$2" = bad && exit 3; echo "value $(( $1 * $1 ))$3"', "sh",
    "{n}", "{mode}", "{flag?.5}",
]
value = { regex = 'value (.*)' }
budget = 24
seed = 3
workers = 2
"""
    + SPACE
)


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result
