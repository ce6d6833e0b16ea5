// Draws rectangles with WebGL2: the ground and all spans on screen are one draw call each.
import type { Rgba } from "./palette";

/** Rectangles in a row of the textures that hold them. */
const ROW = 2048;

// Rectangles lie in textures and each vertex looks up its own. As instances they would be as quick on a graphics card,
// but software that stands in for one draws instances one by one.
const VERTEX = `#version 300 es
precision highp float;
precision highp usampler2D;
uniform highp sampler2D rects;  // start, end in nanoseconds from the origin; top, height in pixels
uniform usampler2D looks;       // color, mode
uniform vec3 origin;  // pixels a nanosecond, pixel of the origin, scroll
uniform vec3 screen;  // width, height, device pixels a pixel
flat out vec4 tint;
flat out vec4 box;
flat out int kind;
void main() {
  int number = gl_VertexID / 6;
  int vertex = gl_VertexID % 6;
  ivec2 cell = ivec2(number % ${ROW}, number / ${ROW});
  vec4 rect = texelFetch(rects, cell, 0);
  uvec2 look = texelFetch(looks, cell, 0).xy;
  uint mode = look.y;
  float left = rect.x * origin.x + origin.y;
  float right = rect.y * origin.x + origin.y;
  float wide = right - left;
  left = max(left, -8.0);
  right = min(right, screen.x + 8.0);
  if (mode != 1u && wide >= 4.0) right -= 1.0;
  left = floor(left * screen.z + 0.5) / screen.z;
  right = max(left + 1.0, floor(right * screen.z + 0.5) / screen.z);
  float top = floor((rect.z - origin.z) * screen.z + 0.5) / screen.z;
  float bottom = floor((rect.z + rect.w - origin.z) * screen.z + 0.5) / screen.z;
  // Two triangles: 0 1 2 and 2 1 3 of the corners.
  int place = vertex < 3 ? vertex : vertex == 3 ? 2 : vertex == 4 ? 1 : 3;
  vec2 corner = vec2(place & 1, place >> 1);
  vec2 at = mix(vec2(left, top), vec2(right, bottom), corner);
  gl_Position = vec4(at.x / screen.x * 2.0 - 1.0, 1.0 - at.y / screen.y * 2.0, 0.0, 1.0);
  tint = vec4(look.x & 255u, (look.x >> 8) & 255u, (look.x >> 16) & 255u, look.x >> 24) / 255.0;
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
  rects = new Float32Array(4 * ROW);
  /** Color and mode of each. */
  looks = new Uint32Array(2 * ROW);
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
    if (2 * this.size === this.looks.length) this.grow();
    const at = 4 * this.size;
    this.rects[at] = start;
    this.rects[at + 1] = end;
    this.rects[at + 2] = top;
    this.rects[at + 3] = height;
    this.looks[2 * this.size] = color[0]! | (color[1]! << 8) | (color[2]! << 16) | ((color[3]! * alpha) << 24);
    this.looks[2 * this.size + 1] = mode;
    this.size++;
  }

  private grow(): void {
    const larger = <T extends Float32Array | Uint32Array>(from: T, to: T) => (to.set(from), to);
    this.rects = larger(this.rects, new Float32Array(2 * this.rects.length));
    this.looks = larger(this.looks, new Uint32Array(2 * this.looks.length));
  }
}

export type Placement = { pixelsPerNs: number; originPixel: number; scroll: number };

/** Rectangles as the graphics card has them. */
class Layer {
  private readonly rects: WebGLTexture;
  private readonly looks: WebGLTexture;
  private size = 0;

  constructor(private readonly gl: WebGL2RenderingContext) {
    [this.rects, this.looks] = [0, 1].map(() => {
      const texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, texture);
      // Numbers are not mixed with their neighbors.
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
      return texture;
    }) as [WebGLTexture, WebGLTexture];
  }

  load({ rects, looks, size }: Rectangles): void {
    const { gl } = this;
    const rows = Math.ceil(size / ROW);
    this.size = size;
    if (size === 0) return;
    gl.bindTexture(gl.TEXTURE_2D, this.rects);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, ROW, rows, 0, gl.RGBA, gl.FLOAT, rects.subarray(0, 4 * ROW * rows));
    gl.bindTexture(gl.TEXTURE_2D, this.looks);
    gl.texImage2D(
      gl.TEXTURE_2D,
      0,
      gl.RG32UI,
      ROW,
      rows,
      0,
      gl.RG_INTEGER,
      gl.UNSIGNED_INT,
      looks.subarray(0, 2 * ROW * rows),
    );
  }

  draw(): void {
    const { gl } = this;
    if (this.size === 0) return;
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.looks);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.rects);
    gl.drawArrays(gl.TRIANGLES, 0, 6 * this.size);
  }
}

export class Painter {
  readonly ground: Layer;
  readonly spans: Layer;
  private readonly origin: WebGLUniformLocation;
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
    this.origin = gl.getUniformLocation(program, "origin")!;
    this.screen = gl.getUniformLocation(program, "screen")!;
    gl.uniform1i(gl.getUniformLocation(program, "rects"), 0);
    gl.uniform1i(gl.getUniformLocation(program, "looks"), 1);
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
    gl.uniform3f(this.origin, placement.pixelsPerNs, placement.originPixel, placement.scroll);
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
    throw new Error(`the graphics driver rejected the shaders: ${gl.getProgramInfoLog(program)}`);
  return program;
}
