import { expect, test } from "vitest";
import { frameLabel, innermostFirst } from "./frames";

test("a frame is its file without folders, its line and its function", () => {
  const check = (frame: string, want: string) => expect(frameLabel(frame)).toBe(want);
  check(
    "/srv/me/anaconda3/lib/python3.7/site-packages/torch/nn/modules/conv.py(440): _conv_forward",
    "conv.py(440): _conv_forward",
  );
  check("C:\\Users\\me\\train.py(12): main", "train.py(12): main");
  check("train.py(46): <module>", "train.py(46): <module>");
  // Slashes of the function are its own.
  check("a/b.py(3): f /x", "b.py(3): f /x");
  check("<built-in method conv2d of type object at 0x7f>", "<built-in method conv2d of type object at 0x7f>");
  check("nn.Module: Conv2d_0", "nn.Module: Conv2d_0");
  check("", "");
});

test("the innermost frame is the first", () => {
  expect(innermostFirst(["main", "forward", "conv"])).toEqual(["conv", "forward", "main"]);
});
