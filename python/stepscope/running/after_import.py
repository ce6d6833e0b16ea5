"""Runs an action as soon as a module is imported, without importing it: a script may set the environment before."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def is_installed(name: str) -> bool:
    """Returns whether a module can be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def after_import(name: str, action: Callable[[], None]) -> None:
    """Calls `action` once: now if the module is already imported, else right after its import."""
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Watcher(name, action))


class _Watcher(MetaPathFinder):
    """Asks the other finders, and adds the action to their loader; finds nothing itself."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name = name
        self._action = action
        self._is_asking_others = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name or self._is_asking_others:
            return None
        self._is_asking_others = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._is_asking_others = False
        if spec and spec.loader:
            self._extend(spec.loader)
        return spec

    def _extend(self, loader: Loader) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            # A script may look for the module several times before it imports it.
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._action()

        setattr(loader, "exec_module", exec_module)
