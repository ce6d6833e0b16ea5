import type { JSX } from "solid-js";
import { EmptyState } from "../shell/states";
export function Distributed(): JSX.Element { return <EmptyState title="Distributed" />; }
