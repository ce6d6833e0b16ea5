// Draws rectangles with WebGL2: the ground and all spans on screen are one draw call each.
import type { Rgba } from "./palette";

const VERTEX = `#version 300 es
layout(location = 0) in vec4 rect;  // start, end in nanoseconds from the origin; top, height in pixels
layout(location = 1) in vec4 color;
layout(location = 2) in float mode;
uniform vec3 place;   // pixels a nanosecond, pixel of the origin, scroll
uniform vec3 screen;  // width, height, device pixels a pixel
flat out vec4 tint;
flat out vec4 box;
flat out int kind;
void main() {
  float left = rect.x * place.x + place.y;
  float right = rect.y * place.x + place.y;
  float wide = right - left;
  left = max(left, -8.0);
  right = min(right, screen.x + 8.0);
  if (mode != 1.0 && wide >= 4.0) right -= 1.0;
  left = floor(left * screen.z + 0.5) / screen.z;
  right = max(left + 1.0, floor(right * screen.z + 0.5) / screen.z);
  float top = floor((rect.z - place.z) * screen.z + 0.5) / screen.z;
  float bottom = floor((rect.z + rect.w - place.z) * screen.z + 0.5) / screen.z;
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 at = mix(vec2(left, top), vec2(right, bottom), corner);
  gl_Position = vec4(at.x / screen.x * 2.0 - 1.0, 1.0 - at.y / screen.y * 2.0, 0.0, 1.0);
  tint = color;
  box = vec4(left, screen.y - bottom, right, screen.y - top) * screen.z;
  kind = int(mode);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 screen;
flat in vec4 tint;
flat in vec4 box;
flat in int kind;
out vec4 pixel;
void main() {
  float alpha = tint.a;
  if (kind == 2) {
    vec2 inside = min(gl_FragCoord.xy - box.xy, box.zw - gl_FragCoord.xy);
    if (min(inside.x, inside.y) > screen.z) discard;
  } else if (kind == 3) {
    float stripe = mod(gl_FragCoord.x + gl_FragCoord.y, 5.0 * screen.z);
    if (stripe > 2.0 * screen.z && box.z - box.x > 3.0) alpha *= 0.25;
  }
  pixel = vec4(tint.rgb * alpha, alpha);
}`;

/** Rectangles to draw: grown as needed and filled anew when something changes. */
export class Rectangles {
  rects = new Float32Array(4 * 1024);
  colors = new Uint8Array(4 * 1024);
  modes = new Float32Array(1024);
  size = 0;

  add(
    start: number,
    end: number,
    top: number,
    height: number,
    color: readonly number[],
    alpha: number,
    mode: number,
  ): void {
    if (this.size === this.modes.length) this.grow();
    const at = 4 * this.size;
    this.rects[at] = start;
    this.rects[at + 1] = end;
    this.rects[at + 2] = top;
    this.rects[at + 3] = height;
    this.colors[at] = color[0]!;
    this.colors[at + 1] = color[1]!;
    this.colors[at + 2] = color[2]!;
    this.colors[at + 3] = color[3]! * alpha;
    this.modes[this.size++] = mode;
  }

  private grow(): void {
    const larger = <T extends Float32Array | Uint8Array>(from: T, to: T) => (to.set(from), to);
    this.rects = larger(this.rects, new Float32Array(2 * this.rects.length));
    this.colors = larger(this.colors, new Uint8Array(2 * this.colors.length));
    this.modes = larger(this.modes, new Float32Array(2 * this.modes.length));
  }
}

export type Placement = { pixelsPerNs: number; originPixel: number; scroll: number };

/** Rectangles as the graphics card has them. */
class Layer {
  private readonly array: WebGLVertexArrayObject;
  private readonly buffers: WebGLBuffer[];
  private size = 0;

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    this.buffers = [0, 1, 2].map((location) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(location);
      if (location === 0) gl.vertexAttribPointer(0, 4, gl.FLOAT, false, 0, 0);
      if (location === 1) gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
      if (location === 2) gl.vertexAttribPointer(2, 1, gl.FLOAT, false, 0, 0);
      gl.vertexAttribDivisor(location, 1);
      return buffer;
    });
  }

  load(rectangles: Rectangles): void {
    const { gl } = this;
    const parts = [
      rectangles.rects.subarray(0, 4 * rectangles.size),
      rectangles.colors.subarray(0, 4 * rectangles.size),
      rectangles.modes.subarray(0, rectangles.size),
    ];
    parts.forEach((part, place) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[place]!);
      gl.bufferData(gl.ARRAY_BUFFER, part, gl.DYNAMIC_DRAW);
    });
    this.size = rectangles.size;
  }

  draw(): void {
    this.gl.bindVertexArray(this.array);
    if (this.size > 0) this.gl.drawArraysInstanced(this.gl.TRIANGLE_STRIP, 0, 4, this.size);
  }
}

export class Painter {
  readonly ground: Layer;
  readonly spans: Layer;
  private readonly place: WebGLUniformLocation;
  private readonly screen: WebGLUniformLocation;

  /** Undefined if the browser has no WebGL2. */
  static on(canvas: HTMLCanvasElement): Painter | undefined {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false });
    return gl ? new Painter(canvas, gl) : undefined;
  }

  private constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
  ) {
    const program = link(gl);
    gl.useProgram(program);
    this.place = gl.getUniformLocation(program, "place")!;
    this.screen = gl.getUniformLocation(program, "screen")!;
    this.ground = new Layer(gl);
    this.spans = new Layer(gl);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  draw(width: number, height: number, background: Rgba, placement: Placement): void {
    const { gl, canvas } = this;
    const scale = devicePixelRatio;
    const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    gl.viewport(0, 0, wide, high);
    gl.clearColor(background[0] / 255, background[1] / 255, background[2] / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform3f(this.place, placement.pixelsPerNs, placement.originPixel, placement.scroll);
    gl.uniform3f(this.screen, width, height, scale);
    this.ground.draw();
    this.spans.draw();
  }
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS))
    throw new Error(`the graphics driver refuses our shaders: ${gl.getProgramInfoLog(program)}`);
  return program;
}
