import type { JSX } from "solid-js";
import { EmptyState } from "../shell/states";
export function Memory(): JSX.Element { return <EmptyState title="Memory" />; }
