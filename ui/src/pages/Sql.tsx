import type { JSX } from "solid-js";
import { EmptyState } from "../shell/states";
export function Sql(): JSX.Element { return <EmptyState title="Sql" />; }
