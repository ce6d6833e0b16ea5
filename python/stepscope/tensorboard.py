"""Adds a Stepscope tab to TensorBoard, for every log folder with traces.

TensorBoard finds the plugin once the package is installed: `tensorboard --logdir runs` shows the tab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin

if TYPE_CHECKING:
    from stepscope._native import NativePages

__all__ = ["StepscopePlugin"]

_StartResponse = Callable[[str, list[tuple[str, str]]], object]

#: TensorBoard imports this into a frame of its own; the frame then shows our page.
_ENTRY = b'export const render = () => location.replace(new URL("page/index.html", import.meta.url));\n'
_PAGE = "/page/"


class StepscopePlugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """Serves the web UI as a TensorBoard plugin."""

    plugin_name = "stepscope"

    def __init__(self, context: Any) -> None:
        self._folder: str | None = context.logdir
        self._opened: NativePages | None = None

    def get_plugin_apps(self) -> dict[str, Callable[[dict[str, Any], _StartResponse], Iterable[bytes]]]:
        """Returns the routes below `data/plugin/stepscope`."""
        return {"/index.js": _entry, f"{_PAGE}*": self._page}

    def is_active(self) -> bool:
        """Returns whether the folder holds a run. TensorBoard asks again, so the tab appears with the first run."""
        return self._folder is not None and self._pages().has_runs()

    def frontend_metadata(self) -> Any:
        """Returns the name of the tab and its entry page."""
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Stepscope", disable_reload=True)

    def _pages(self) -> NativePages:
        if self._opened is None:
            from stepscope._native import NativePages

            self._opened = NativePages([self._folder or "."])
        return self._opened

    def _page(self, environ: dict[str, Any], start_response: _StartResponse) -> Iterable[bytes]:
        # Python hands the bytes of a path over as Latin-1; a `%` in a name must stay one.
        path = environ["PATH_INFO"].encode("latin-1")
        place = path.index(_PAGE.encode()) + len(_PAGE)
        query = environ.get("QUERY_STRING", "")
        target = "/" + _quoted(path[place:]) + (f"?{query}" if query else "")
        headers = [
            (name[5:].replace("_", "-").lower(), value) for name, value in environ.items() if name.startswith("HTTP_")
        ]
        headers.append(("content-type", environ.get("CONTENT_TYPE") or ""))
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > _LARGEST_BODY:
            start_response("413 Content Too Large", [("content-type", "text/plain"), ("content-length", "0")])
            return [b""]
        body = environ["wsgi.input"].read(length) if length else b""
        status, answered, data = self._pages().answer(environ["REQUEST_METHOD"], target, headers, body)
        start_response(f"{status} {_REASONS.get(status, 'Answer')}", [*answered, ("content-length", str(len(data)))])
        return [data]


_LARGEST_BODY = 1 << 20
_REASONS = {200: "OK", 304: "Not Modified", 400: "Bad Request", 404: "Not Found"}


def _quoted(path: bytes) -> str:
    from urllib.parse import quote

    return quote(path)


def _entry(environ: dict[str, Any], start_response: _StartResponse) -> Iterable[bytes]:
    headers = [
        ("content-type", "text/javascript; charset=utf-8"),
        ("content-length", str(len(_ENTRY))),
        ("x-content-type-options", "nosniff"),
    ]
    start_response("200 OK", headers)
    return [_ENTRY]
