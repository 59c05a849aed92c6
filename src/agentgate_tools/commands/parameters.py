"""Arguments and options of a command, declared in the signature of its function and read by click."""

import inspect
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import click


class Argument:
    """A positional argument. `given` is what click.Path takes."""

    def __init__(self, *, help: str, **given: Any) -> None:  # noqa: A002 - click's name
        self.help = help
        self.given = given


class Option(Argument):
    """An option. Names: default is the parameter's name. `min` and `max` bound a number; click takes the rest."""

    def __init__(self, *names: str, help: str, **given: Any) -> None:  # noqa: A002 - click's name
        super().__init__(help=help, **given)
        self.names = names


def make_command(run: Callable[..., Any], *, name: str, example: str) -> click.Command:
    """Return a command that calls a function with the values of its parameters."""
    described = inspect.cleandoc(run.__doc__ or "")
    arguments = [
        f"{each.name.upper()}: {each.annotation.__metadata__[0].help}"
        for each in inspect.signature(run).parameters.values()
        if not isinstance(each.annotation.__metadata__[0], Option)
    ]
    listed = "".join(f"\n\n{each}" for each in arguments)
    return click.Command(
        name,
        callback=run,
        params=list(make_parameters(run)),
        help=described + listed,
        short_help=described.partition("\n")[0],
        epilog=f"Example: {example}",
    )


def make_parameters(run: Callable[..., Any]) -> Iterator[click.Parameter]:
    """Yield click's form of each parameter of a function."""
    for each in inspect.signature(run).parameters.values():
        kind, declared = _unpack(each.annotation)
        required = each.default is inspect.Parameter.empty
        default = None if required else each.default
        if isinstance(default, StrEnum):
            # click would print the member's name in --help.
            default = default.value
        is_list = get_origin(kind) is list
        (item,) = get_args(kind) if is_list else (kind,)
        given: dict[str, Any] = {"required": True} if required else {"default": default}
        if is_list:
            given["callback"] = _list_or(default)
        if not isinstance(declared, Option):
            yield click.Argument(
                [each.name], type=_value_type(item, declared.given), nargs=-1 if is_list else 1, **given
            )
            continue
        bounds: dict[str, Any] = {bound: declared.given[bound] for bound in ("min", "max") if bound in declared.given}
        given |= {key: value for key, value in declared.given.items() if key not in bounds}
        yield click.Option(
            [*(declared.names or _names(each)), each.name],
            help=declared.help,
            show_default=default not in (None, "", False) and not is_list,
            is_flag=item is bool,
            type=_value_type(item, bounds),
            multiple=is_list,
            **given,
        )


def _names(parameter: inspect.Parameter) -> list[str]:
    name = parameter.name.replace("_", "-")
    return [f"--{name}/--no-{name}" if parameter.default is True else f"--{name}"]


def _unpack(annotation: Any) -> tuple[Any, Argument]:
    """Return the type without None, and its declaration."""
    assert get_origin(annotation) is Annotated
    kind, declared = get_args(annotation)
    choices = [each for each in get_args(kind) if each is not NoneType]
    return (choices[0] if NoneType in get_args(kind) and len(choices) == 1 else kind), declared


class _ByValue(click.Choice[StrEnum]):
    """Members of an enumeration, by their values and not by their names."""

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's signature
        return str(choice)


def _value_type(kind: Any, given: dict[str, Any]) -> Any:
    if kind is Path:
        return click.Path(path_type=Path, **given)
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _ByValue(kind)
    if given:
        return (click.IntRange if kind is int else click.FloatRange)(**given)
    return kind


def _list_or(default: Any) -> Callable[[click.Context, click.Parameter, tuple[Any, ...]], Any]:
    return lambda _context, _parameter, values: list(values) or default
