// The icons, drawn on 16 by 16.
import type { JSX } from "solid-js";

const SHAPES = {
  overview: "M2.5 2.5h5v6h-5zM9.5 2.5h4v3h-4zM9.5 7.5h4v6h-4zM2.5 10.5h5v3h-5z",
  timeline: "M2 4h6M6 8h8M4 12h6M11 4h3M2 8h1.5",
  critical: "M2 4h5v4h3v4h4M2 8h2.5M2 12h5",
  operators: "M2.5 4h11M2.5 8h7.5M2.5 12h4",
  kernels:
    "M4.5 4.5h7v7h-7zM6.8 6.8h2.4v2.4H6.8zM6 2v2.5M10 2v2.5M6 11.5V14M10 11.5V14M2 6h2.5M2 10h2.5M11.5 6H14M11.5 10H14",
  hlo: "M3 3h4v4H3zM9 9h4v4H9zM7 5h4v4M5 7v4h4",
  input: "M2 4h5v8H2zM7 8h6M10.5 5.5L13 8l-2.5 2.5",
  modules: "M8 2l5.5 3v6L8 14l-5.5-3V5zM2.5 5L8 8l5.5-3M8 8v6",
  transfers: "M2 5.5h11M10.5 3l2.5 2.5L10.5 8M14 10.5H3M5.5 8L3 10.5 5.5 13",
  communication:
    "M8 2.5a1.6 1.6 0 100 3.2 1.6 1.6 0 000-3.2zM3.6 10.3a1.6 1.6 0 100 3.2 1.6 1.6 0 000-3.2zM12.4 10.3a1.6 1.6 0 100 3.2 1.6 1.6 0 000-3.2zM7.2 5.6l-2.8 4.8M8.8 5.6l2.8 4.8M5.2 11.9h5.6",
  memory: "M2 12.5l3-6 3 3 2.5-5.5 3.5 8.5zM2 12.5h12",
  steps: "M2 13.5v-4h3.5V6H9V2.5h5",
  launches: "M2.5 13.5l8-8M6 3.5h6.5V10",
  regions: "M5 2.5H2.5v11H5M11 2.5h2.5v11H11M5.5 8h5",
  functions: "M11.5 3.5c-2.2-1.2-3.5 0-3.9 2.2l-.9 4.6c-.4 2.2-1.7 3.4-3.9 2.2M5 7h6",
  distributed:
    "M2.5 2.5h3v3h-3zM6.5 2.5h3v3h-3zM10.5 2.5h3v3h-3zM2.5 6.5h3v3h-3zM6.5 6.5h3v3h-3zM10.5 6.5h3v3h-3zM2.5 10.5h3v3h-3zM6.5 10.5h3v3h-3zM10.5 10.5h3v3h-3z",
  compare: "M5 13V3M2.5 5.5L5 3l2.5 2.5M11 3v10M8.5 10.5L11 13l2.5-2.5",
  sql: "M3 4.5L6.5 8 3 11.5M8 12h5",
  table: "M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6.5 6.3V13",
  search: "M7 2.8a4.2 4.2 0 100 8.4 4.2 4.2 0 000-8.4zM10.2 10.2L13.5 13.5",
  sun: "M8 5.3a2.7 2.7 0 100 5.4 2.7 2.7 0 000-5.4zM8 1.5v1.7M8 12.8v1.7M1.5 8h1.7M12.8 8h1.7M3.4 3.4l1.2 1.2M11.4 11.4l1.2 1.2M3.4 12.6l1.2-1.2M11.4 4.6l1.2-1.2",
  moon: "M13 9.8A5.5 5.5 0 016.2 3a5.5 5.5 0 106.8 6.8z",
  help: "M6 6.2c0-1.4.9-2.2 2.1-2.2s2 .8 2 1.9c0 1.7-2 1.7-2 3.3M8.1 11.8v.2",
  down: "M4.5 6.5L8 10l3.5-3.5",
  up: "M4.5 9.5L8 6l3.5 3.5",
  right: "M6.5 4.5L10 8l-3.5 3.5",
  left: "M9.5 4.5L6 8l3.5 3.5",
  check: "M3.5 8.5l3 3 6-7",
  triangle: "M8 2.8L14 13H2zM8 6.8v3M8 11.3v.2",
  octagon: "M8 2.3a5.7 5.7 0 100 11.4A5.7 5.7 0 008 2.3zM8 5v3.8M8 10.9v.2",
  info: "M8 2.3a5.7 5.7 0 100 11.4A5.7 5.7 0 008 2.3zM8 7.4V11M8 5v.2",
  close: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  pin: "M5.5 2.5h5M6.5 2.5v4L4.5 9.5h7l-2-3v-4M8 9.5v4",
} as const;

export type IconName = keyof typeof SHAPES;

/** The icon of a page; one without an icon of its own is a table. */
export function pageIcon(page: string): IconName {
  return page in SHAPES ? (page as IconName) : "table";
}

export function Icon(props: { name: IconName; size?: number; class?: string }): JSX.Element {
  return (
    <svg
      class={props.class}
      width={props.size ?? 16}
      height={props.size ?? 16}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={SHAPES[props.name]} />
    </svg>
  );
}

export function Brand(): JSX.Element {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <rect x="1" y="3" width="18" height="4" rx="1" fill="var(--kernel)" />
      <rect x="1" y="8" width="8" height="4" rx="1" fill="var(--dataloader)" />
      <rect x="10" y="8" width="6" height="4" rx="1" fill="var(--cpu_exec)" />
      <rect x="1" y="13" width="5" height="4" rx="1" fill="var(--communication)" />
    </svg>
  );
}
