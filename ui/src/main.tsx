import { render } from "solid-js/web";
import "./look/tokens.css";
import "./look/base.css";
import "./look/shell.css";
import "./look/blocks.css";
import "./look/table.css";
import "./look/pages.css";
import { App } from "./shell/App";
import { followAddress } from "./state/route";
import { applyTheme } from "./state/theme";

applyTheme();
followAddress();
render(() => <App />, document.getElementById("root")!);
