// Statements that run as they are: what people ask first, and how the tables fit together.

export type SqlExample = { title: string; statement: string };

export const SQL_EXAMPLES: SqlExample[] = [
  {
    title: "Events by kind",
    statement:
      "SELECT kind, count(*) AS events, sum(dur_ns) AS total_ns\nFROM spans\nGROUP BY kind\nORDER BY total_ns DESC",
  },
  {
    title: "Longest kernels",
    statement:
      "SELECT rank, step, name, start_ns, dur_ns\nFROM spans\nWHERE kind = 'kernel'\nORDER BY dur_ns DESC\nLIMIT 50",
  },
  {
    title: "Time per step",
    statement:
      'SELECT rank, "window", step, name, dur_ns, is_complete\nFROM steps\nORDER BY rank, "window", step',
  },
  {
    title: "Kernels of an operator",
    statement:
      "SELECT op.name AS operator, device.name AS kernel, count(*) AS calls, sum(device.dur_ns) AS total_ns\n" +
      "FROM device_events AS device\n" +
      'JOIN spans AS op\n  ON op.rank = device.rank AND op."window" = device."window" AND op.span_id = device.operator_id\n' +
      "WHERE op.name LIKE '%conv%'\nGROUP BY ALL\nORDER BY total_ns DESC",
  },
  {
    title: "Critical path by class",
    statement:
      "SELECT class, sum(dur_ns) AS path_ns, count(*) AS pieces\nFROM critical_path\nGROUP BY class\nORDER BY path_ns DESC",
  },
  {
    title: "Idle gaps of streams",
    statement: "SELECT *\nFROM stream_gaps\nORDER BY gap_ns DESC\nLIMIT 50",
  },
  {
    title: "Copies by size",
    statement:
      "SELECT name, count(*) AS copies, sum(size_bytes) AS bytes, sum(dur_ns) AS total_ns\n" +
      "FROM device_events\nWHERE kind = 'memcpy'\nGROUP BY name\nORDER BY bytes DESC",
  },
  {
    title: "Collectives by step and rank",
    statement:
      "SELECT step, rank, collective, count(*) AS calls, sum(dur_ns) AS total_ns\n" +
      "FROM collectives\nGROUP BY ALL\nORDER BY step, rank",
  },
];
