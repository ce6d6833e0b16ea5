import { expect, test } from "vitest";
import { frameLabel, stackLabels, userFrame } from "./stack_labels";

const PACKAGES = "/srv/x/envs/kineto/lib/python3.7/site-packages";
const CONV = `${PACKAGES}/torch/nn/modules/conv.py(440): _conv_forward`;
const CALL = `${PACKAGES}/torch/nn/modules/module.py(1051): _call_impl`;
const resnet = (line: number) => `${PACKAGES}/torchvision/models/resnet.py(${line}): forward`;

test.each([
  [CONV, "conv.py(440): _conv_forward"],
  ["train.py(46): <module>", "train.py(46): <module>"],
  ["model/net.py(4): a/b", "net.py(4): a/b"],
  ["<built-in function linear>", "<built-in function linear>"],
  ["nn.Module: Linear_3", "nn.Module: Linear_3"],
])("%s is called %s", (frame, want) => expect(frameLabel(frame)).toBe(want));

test.each([
  [[CONV, CALL, "train.py(46): <module>"], "train.py(46): <module>"],
  [["torch/nn/functional.py(1): relu", "src/model.py(42): forward", "train.py(9): main"], "src/model.py(42): forward"],
  [["<built-in function linear>", "nn.Module: Net_0", "torchrun/model.py(1): f"], "torchrun/model.py(1): f"],
  [["<frozen importlib._bootstrap>(241): _call", "importlib/util.py(2): f", "a.py(1): g"], "a.py(1): g"],
  [["/srv/x/torch/net.py(3): forward"], "/srv/x/torch/net.py(3): forward"],
  [["<built-in function linear>", "torch/optim/sgd.py(1): step"], "torch/optim/sgd.py(1): step"],
])("of %s the user wrote %s", (frames, want) => expect(userFrame(frames)).toBe(want));

const stack = (...frames: string[]) => frames.join(";");
const rows = (...stacks: (string | null)[]) => stacks.map((stack) => ({ key: "aten::conv", stack }));

test("the label is the innermost frame of the user's code", () => {
  const calls = rows(stack(CONV, CALL, "/src/model.py(42): forward", "train.py(46): <module>"), null);
  expect(stackLabels(calls)).toEqual(["model.py(42): forward", null]);
});

test("rows that would read the same show the frames that differ", () => {
  const script = "train.py(46): <module>";
  expect(
    stackLabels(rows(stack(CONV, CALL, resnet(124), script), stack(CONV, CALL, resnet(132), script))),
  ).toEqual([`${script} › resnet.py(124): forward`, `${script} › resnet.py(132): forward`]);
});

test("one differing frame may not be enough", () => {
  const script = "train.py(46): <module>";
  const layer = (line: number) => `${PACKAGES}/torchvision/models/resnet.py(${line}): _forward_impl`;
  const labels = stackLabels(
    rows(
      stack(CONV, resnet(124), layer(1), script),
      stack(CONV, resnet(124), layer(2), script),
      stack(CONV, resnet(132), layer(1), script),
    ),
  );
  expect(new Set(labels).size).toBe(3);
  expect(labels[0]).toBe(`${script} › resnet.py(1) › (124): forward`);
});

test("rows of other names may have equal labels", () => {
  const each = stack(CONV, "train.py(46): <module>");
  expect(
    stackLabels([
      { key: "aten::conv", stack: each },
      { key: "aten::add", stack: each },
    ]),
  ).toEqual(["train.py(46): <module>", "train.py(46): <module>"]);
});

test("files of one name in two folders show their folders", () => {
  expect(stackLabels(rows("/src/a/net.py(1): f", "/src/b/net.py(1): f"))).toEqual([
    "/src/a/net.py(1): f",
    "/src/b/net.py(1): f",
  ]);
});

test("equal stacks end the search", () => {
  expect(stackLabels(rows("a.py(1): f;b.py(2): g", "a.py(1): f;b.py(2): g"))).toEqual(["a.py(1): f", "a.py(1): f"]);
});
