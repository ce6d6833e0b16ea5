import type { JSX } from "solid-js";
import { EmptyState } from "../shell/states";
export default function Timeline(): JSX.Element { return <EmptyState title="Timeline" />; }
