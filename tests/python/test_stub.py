"""The stub of the extension module says what the module has, and nothing else."""

import ast
import inspect
from pathlib import Path

import pytest

from pennon import _native

STUB = ast.parse(Path(_native.__file__).with_name("_native.pyi").read_text(encoding="utf-8"))
# What every class of an extension module has without being asked.
IMPLIED = set(dir(object)) | {"__module__", "__doc__"}

# Protocols are shapes of what goes in and out, and exist for the type checker alone.
STUBBED_CLASSES = {
    node.name: node
    for node in STUB.body
    if isinstance(node, ast.ClassDef) and "Protocol" not in map(ast.unparse, node.bases)
}
CLASSES = {name: value for name, value in vars(_native).items() if inspect.isclass(value)}


def stubbed_functions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    """The functions of a module or class in the stub, by name."""
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def stubbed_parameters(function: ast.FunctionDef) -> list[tuple[str, bool, bool]]:
    """Name, whether by keyword only, and whether there is a default."""
    given = function.args
    places = [*given.posonlyargs, *given.args]
    without = len(places) - len(given.defaults)
    return [(place.arg, False, number >= without) for number, place in enumerate(places)] + [
        (keyword.arg, True, default is not None)
        for keyword, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]


def parameters(function: object) -> list[tuple[str, bool, bool]]:
    """As `stubbed_parameters`, of a function of the module."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    return [
        (name, parameter.kind is parameter.KEYWORD_ONLY, parameter.default is not parameter.empty)
        for name, parameter in signature.parameters.items()
    ]


def test_the_stub_has_the_names_of_the_module() -> None:
    variables = {
        node.target.id
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    public = {name for name in vars(_native) if not name.startswith("_")} | {"__version__"}
    assert public == set(STUBBED_CLASSES) | set(stubbed_functions(STUB.body)) | variables


@pytest.mark.parametrize("name", STUBBED_CLASSES)
def test_a_stubbed_class_has_the_members_of_the_class(name: str) -> None:
    members = set(vars(CLASSES[name])) - IMPLIED
    assert members == set(stubbed_functions(STUBBED_CLASSES[name].body))


@pytest.mark.parametrize("name", stubbed_functions(STUB.body))
def test_a_stubbed_function_has_the_parameters_of_the_function(name: str) -> None:
    stubbed = stubbed_functions(STUB.body)[name]
    assert stubbed_parameters(stubbed) == parameters(getattr(_native, name))


@pytest.mark.parametrize(
    ("name", "method"),
    [
        (name, method)
        for name, node in STUBBED_CLASSES.items()
        for method, stubbed in stubbed_functions(node.body).items()
        if not any(ast.unparse(decorator) == "property" for decorator in stubbed.decorator_list)
    ],
)
def test_a_stubbed_method_has_the_parameters_of_the_method(name: str, method: str) -> None:
    stubbed = stubbed_functions(STUBBED_CLASSES[name].body)[method]
    assert stubbed_parameters(stubbed) == parameters(getattr(CLASSES[name], method))
