import type { JSX } from "solid-js";
import { EmptyState } from "../shell/states";
export function Compare(): JSX.Element { return <EmptyState title="Compare" />; }
