"""Counts the floating-point operations of torch's operators, forward and backward, when torch dispatches them.

Uses the same formulas as for traces (matrix products, convolutions, attention); other operators count as 0. Code that
`torch.compile` has compiled is not dispatched operator by operator, so it is not counted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from stepscope import _native
from stepscope.errors import MissingPackageError

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError as error:
    raise MissingPackageError("estimate_flops needs PyTorch", None, "pip install torch") from error

__all__ = ["FlopsCounter", "Tally"]

_Mode: Any = TorchDispatchMode


@dataclass
class Tally:
    """Counts the work of the operators in one region."""

    flops: int = 0
    calls_without_flops: int = 0
    _parameters: dict[int, Any] = field(default_factory=dict)

    def add(self, flops: int | None, parameters: Iterable[Any]) -> None:
        """Adds one call of an operator; `None` if it has no formula."""
        self.flops += flops or 0
        self.calls_without_flops += flops is None
        # They are kept while the region is open, so that no other tensor gets the same id.
        self._parameters.update((id(parameter), parameter) for parameter in parameters)

    def parameters(self) -> int:
        """Returns the elements of the distinct parameters that the operators received."""
        return sum(parameter.numel() for parameter in self._parameters.values())


class FlopsCounter:
    """Watches the operators of each thread that has an open tally."""

    def __init__(self, open_tallies: Callable[[], list[Tally]]) -> None:
        self._open_tallies = open_tallies
        self._of_thread = threading.local()

    def start(self, tally: Tally) -> None:
        """Starts counting for one more tally on this thread."""
        watch = getattr(self._of_thread, "watch", None)
        if watch is None:
            watch = self._of_thread.watch = _Watch(self._open_tallies)
            watch.__enter__()
        watch.tallies.append(tally)

    def stop(self, tally: Tally) -> None:
        """Stops counting for a tally."""
        watch = getattr(self._of_thread, "watch", None)
        if watch is None:  # The region was opened on another thread.
            return
        watch.tallies = [other for other in watch.tallies if other is not tally]
        if not watch.tallies:
            self._of_thread.watch = None
            watch.__exit__(None, None, None)


class _Watch(_Mode):  # type: ignore[misc]
    """Sees every operator of a thread, and of the threads of autograd that work for it."""

    def __init__(self, open_tallies: Callable[[], list[Tally]]) -> None:
        super().__init__()
        self.tallies: list[Tally] = []
        self._open_tallies = open_tallies

    def __torch_dispatch__(
        self, operator: Any, types: Any, arguments: tuple[Any, ...] = (), named: Mapping[str, Any] | None = None
    ) -> Any:
        named = named or {}
        name = _formula_name(operator)
        if name is None:
            # Without autograd, operators that are made of others come here whole.
            with self:
                result = operator.decompose(*arguments, **named)
            if result is not NotImplemented:
                return result
        result = operator(*arguments, **named)
        if name is not None:
            self._count(_flops(name, operator, arguments, named), arguments)
        else:
            self._count(0 if _is_view(operator) else None, arguments)
        return result

    def _count(self, flops: int | None, arguments: tuple[Any, ...]) -> None:
        parameters = list(_parameters(arguments))
        # Autograd's own threads know nothing of the regions that are open where they were called.
        for tally in self._open_tallies() or self.tallies:
            tally.add(flops, parameters)


def _flops(name: str, operator: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> int | None:
    dims: list[list[int]] = []
    values: list[Any] = []
    for index, declared in enumerate(operator._schema.arguments):
        if index < len(arguments):
            value = arguments[index]
        else:
            value = named.get(declared.name, declared.default_value)
        is_tensor = isinstance(value, torch.Tensor)
        dims.append([int(size) for size in value.shape] if is_tensor else [])
        values.append("" if is_tensor or value is None else value)
    return _native.op_flops(name, json.dumps(dims), json.dumps(values, default=str))


def _parameters(arguments: Iterable[Any]) -> Iterable[Any]:
    for value in arguments:
        if isinstance(value, (list, tuple)):
            yield from _parameters(value)
        elif isinstance(value, torch.nn.Parameter):
            yield value
        # The transposed weight of a linear layer, for example, if it was transposed before the region.
        elif isinstance(value, torch.Tensor) and isinstance(value._base, torch.nn.Parameter):
            yield value._base


@lru_cache(maxsize=None)
def _formula_name(operator: Any) -> str | None:
    """Returns the name under which the operator has a formula."""
    # The CPU's attention has a name of its own and the same arguments.
    name = str(operator._schema.name).replace("_for_cpu", "")
    return name if name in _operators_with_formula() else None


@lru_cache(maxsize=None)
def _operators_with_formula() -> frozenset[str]:
    return frozenset(_native.op_flops_operators())


@lru_cache(maxsize=None)
def _is_view(operator: Any) -> bool:
    """Returns whether the result shares the memory of an unmodified input, so that nothing was computed."""
    aliases = [returned.alias_info for returned in operator._schema.returns]
    return any(alias is not None and not alias.is_write for alias in aliases)
