// A memory snapshot: what the allocator holds, which stacks hold it over time, and how segments are filled.
import { createMemo, Show, type JSX } from "solid-js";
import { figureText, numberOf } from "../format/number";
import { counted } from "../format/names";
import { factsOf, say, said, written } from "../format/say";
import { isShownAtFirst } from "../report/columns";
import { Lede, SmallTable, Stat } from "../report/parts";
import { Segments } from "../report/Segments";
import { headline, tableNamed } from "../report/table";
import { memoryPicture } from "../server/questions";
import type { Column, DeviceMemory, MemoryPicture, Report } from "../server/types";
import { Answer } from "../shell/Answer";
import { EmptyState, UnknownState } from "../shell/states";
import { createAnswer } from "../state/answer";
import { lossDoubt } from "../state/health";
import { choice, choose } from "../state/route";
import { sourceKey } from "../state/session";
import { numbersInWords } from "../state/unknown";
import {
  deviceIds,
  figureOf,
  fullestDevice,
  missingHistory,
  missingState,
  parseSelection,
  rowsOfDevice,
  writeSelection,
  type Selection,
} from "./memory_snapshot";
import { MemorySegments } from "./MemorySegments";
import { MemoryStacks } from "./MemoryStacks";

export default function MemorySnapshot(props: { report: Report }): JSX.Element {
  const ids = createMemo(() => deviceIds(props.report));
  const asked = () => choice("device");
  const device = () => (asked() === undefined ? fullestDevice(props.report) : ids().find((id) => String(id) === asked()));
  const unknown = () => {
    const has = ids().length === 1 ? `device ${ids()[0]} only` : `devices ${numbersInWords(ids())}`;
    const text = `Device ${asked()} is not in this snapshot; it has ${has}`;
    return [{ text, keys: ["device" as const], remedy: `Remove device ${asked()}` }];
  };
  return (
    <Show
      when={ids().length > 0}
      fallback={
        <EmptyState
          title="This snapshot is empty"
          why="It holds no segments and no history. Record the history of allocations before the first step."
          code={'from stepscope.torch import record_memory_history, snapshot\n\nrecord_memory_history()\ntrain(steps=5)\nsnapshot("memory.pickle")'}
        />
      }
    >
      <Show when={device() !== undefined} fallback={<UnknownState unknown={unknown()} />}>
        <SnapshotOf report={props.report} ids={ids()} device={device()!} />
      </Show>
    </Show>
  );
}

function SnapshotOf(props: { report: Report; ids: number[]; device: number }): JSX.Element {
  const [picture, retry] = createAnswer(sourceKey, (key) => memoryPicture(key));
  return (
    <div class="page">
      <div class="lede-row">
        <Lede sentence={headline(props.report)} facts={facts(props.report, props.device)} doubt={lossDoubt()} />
        <Show when={props.ids.length > 1}>
          <Segments
            label="Device"
            options={props.ids.map((id) => [String(id), `gpu${id}`])}
            value={String(props.device)}
            choose={(id) => choose({ device: id === String(fullestDevice(props.report)) ? undefined : id })}
          />
        </Show>
      </div>
      <Stats report={props.report} device={props.device} />
      <Answer of={picture} retry={retry} waiting={<section class="panel waiting-picture" />}>
        {(picture) => <Pictures report={props.report} picture={picture()} device={props.device} />}
      </Answer>
      <Tables report={props.report} device={props.device} isOne={props.ids.length === 1} />
    </div>
  );
}

function facts(report: Report, device: number) {
  const number = (name: "devices" | "history", column: string) => numberOf(figureOf(report, name, device, column));
  const [segments, blocks] = [number("devices", "segments"), number("devices", "blocks")];
  const [events, failures] = [number("history", "events"), number("history", "out_of_memory_count")];
  return factsOf([
    `gpu${device}`,
    segments === null ? undefined : counted(segments, "segments"),
    blocks === null ? undefined : counted(blocks, "blocks"),
    events === null ? undefined : say`${said("plain", events)} allocator events`,
    failures ? counted(failures, "out-of-memory errors") : undefined,
  ]);
}

function Stats(props: { report: Report; device: number }): JSX.Element {
  const end = (column: string) => figureOf(props.report, "devices", props.device, column);
  const past = (column: string) => figureOf(props.report, "history", props.device, column);
  const isRelative = () => past("is_relative") === true;
  const noState = () => missingState(props.report);
  const share = (column: string) => {
    const [part, whole] = [numberOf(end(column)), numberOf(end("reserved_bytes"))];
    return part === null || !whole ? undefined : `${figureText("ratio", part / whole)} of reserved`;
  };
  const when = () => {
    const [time, event] = [past("peak_active_from_start_ns"), past("peak_active_event")];
    if (time !== null) return `${figureText("ns", time)} after the start`;
    return event === null ? undefined : `at event ${figureText("plain", event)} of ${figureText("plain", past("events"))}`;
  };
  const rounding = () => {
    const [allocated, requested] = [numberOf(end("allocated_bytes")), numberOf(end("requested_bytes"))];
    return allocated === null || requested === null ? null : allocated - requested;
  };
  return (
    <div class="strip">
      <Stat
        label={isRelative() ? "Peak growth" : "Peak active"}
        unit="bytes"
        value={past("peak_active_bytes")}
        reason={missingHistory(props.report)}
        note={when()}
      />
      <Stat
        label="Reserved at the end"
        unit="bytes"
        value={end("reserved_bytes")}
        reason={noState()}
        note={end("segments") === null ? undefined : counted(numberOf(end("segments")) ?? 0, "segments")}
      />
      <Stat
        label="Allocated at the end"
        unit="bytes"
        value={end("allocated_bytes")}
        reason={noState()}
        note={share("allocated_bytes")}
      />
      <Stat
        label="Stuck in fragments"
        unit="bytes"
        value={end("stuck_bytes")}
        reason={noState()}
        note={share("stuck_bytes")}
      />
      <Stat
        label="Cached, can be returned"
        unit="bytes"
        value={end("cached_bytes")}
        reason={noState()}
        note={share("cached_bytes")}
      />
      <Stat
        label="Lost to rounding"
        unit="bytes"
        value={rounding()}
        reason={noState()}
        note={
          end("rounding_ratio") === null ? undefined : `${figureText("ratio", end("rounding_ratio"))} of allocated`
        }
      />
    </div>
  );
}

function Pictures(props: { report: Report; picture: MemoryPicture; device: number }): JSX.Element {
  const device = (): DeviceMemory =>
    props.picture.devices.find((each) => each.device_id === props.device) ?? {
      device_id: props.device,
      owners: [],
      segments: [],
      segments_left_out: 0,
      timeline: null,
    };
  const selection = createMemo(() => parseSelection(choice("sel"), device()));
  const owner = () => {
    const selected = selection();
    return selected && "owner" in selected ? selected.owner : undefined;
  };
  const block = () => {
    const selected = selection();
    return selected && !("owner" in selected) ? selected : undefined;
  };
  // Arrow keys walk from block to block; stacks are few enough to go back to.
  const select = (selected: Selection | undefined) =>
    choose({ sel: writeSelection(selected) }, selected && "owner" in selected ? "push" : "replace");
  return (
    <>
      <Show
        when={device().timeline}
        fallback={
          <Without title="Memory by stack" code="record_memory_history()">
            Not known: {missingHistory(props.report)}. Record it before the first step with
          </Without>
        }
      >
        {(timeline) => (
          <MemoryStacks
            device={device()}
            timeline={timeline()}
            owner={owner()}
            choose={(owner) => select(owner === undefined ? undefined : { owner })}
          />
        )}
      </Show>
      <Show
        when={device().segments.length > 0}
        fallback={
          <Without title="Segments" code={'snapshot("memory.pickle")'}>
            Not known: {missingState(props.report)}. The file holds events only. Write the state too with
          </Without>
        }
      >
        <MemorySegments device={device()} owner={owner()} chosen={block()} choose={select} />
      </Show>
    </>
  );
}

/** Why a picture is missing, and what records it. */
function Without(props: { title: string; code: string; children: JSX.Element }): JSX.Element {
  return (
    <section class="panel">
      <header>
        <h2>{props.title}</h2>
      </header>
      <p class="nothing">
        {props.children} <code>{props.code}</code>.
      </p>
    </section>
  );
}

function Tables(props: { report: Report; device: number; isOne: boolean }): JSX.Element {
  const table = (name: string) => {
    const found = tableNamed(props.report, name);
    return found && rowsOfDevice(found, props.device);
  };
  const isStateKnown = () => figureOf(props.report, "devices", props.device, "reserved_bytes") !== null;
  const Panel = (panel: { name: string; title: string; what?: string; children?: JSX.Element }) => (
    <Show when={panel.children !== undefined || (table(panel.name)?.rows.length ?? 0) > 0}>
      <section class="panel">
        <header>
          <h2>{panel.title}</h2>
          <span class="what">{panel.what}</span>
        </header>
        <Show when={(table(panel.name)?.rows.length ?? 0) > 0 && table(panel.name)} fallback={panel.children}>
          {(rows) => (
            <div class="scrolled" role="region" tabindex="0" aria-label={panel.title}>
              <SmallTable table={rows()} missing={props.report.missing} most={50} isShown={isShown} />
            </div>
          )}
        </Show>
      </section>
    </Show>
  );
  return (
    <div class="cols memory-grid snapshot-tables">
      <Panel name="rows" title="At the peak by stack">
        <p class="nothing">Not known: {missingHistory(props.report)}.</p>
      </Panel>
      <Panel name="held" title="In use at the end">
        <p class="nothing">{isStateKnown() ? "No block is in use." : `Not known: ${missingState(props.report)}.`}</p>
      </Panel>
      <Panel name="lines" title="At the peak by line" what={props.isOne ? undefined : "all devices"} />
      <Panel name="categories" title="At the peak by category" what="estimated from the stacks" />
      <Panel name="grown" title="Grew over the steps" what={table("grown")?.notes.map(written).join(", ")} />
    </div>
  );
}

/** All rows are of the device that the page shows. */
const isShown = (column: Column) => column.name !== "device_id" && isShownAtFirst(column, 1200);
