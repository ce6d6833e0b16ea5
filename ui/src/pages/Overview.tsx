import type { JSX } from "solid-js";
import { EmptyState } from "../shell/states";
export function Overview(): JSX.Element { return <EmptyState title="Overview" />; }
