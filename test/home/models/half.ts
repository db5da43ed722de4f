const view = new DataView(new ArrayBuffer(4));

/**
 * The bits of the nearest IEEE 754 half-precision number, ties to even. Smaller than the smallest normal one
 * becomes zero, larger than the largest becomes infinity: weights are neither.
 */
export function halfBits(value: number): number {
  view.setFloat32(0, value);
  const bits = view.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
  if (exponent <= 0) return sign;
  if (exponent >= 31) return sign | 0x7c00;
  const kept = (exponent << 10) | ((bits >>> 13) & 0x3ff);
  const dropped = bits & 0x1fff;
  const up = dropped > 0x1000 || (dropped === 0x1000 && (kept & 1) === 1);
  // A carry out of the mantissa rightly raises the exponent.
  return sign | (up ? kept + 1 : kept);
}

/** Numbers as little-endian half-precision bytes. */
export function halfBytes(values: readonly number[] | Float32Array): Uint8Array {
  const bytes = new Uint8Array(values.length * 2);
  const out = new DataView(bytes.buffer);
  values.forEach((value: number, index: number) => {
    out.setUint16(index * 2, halfBits(value), true);
  });
  return bytes;
}

/** Numbers as little-endian single-precision bytes. */
export function floatBytes(values: Float32Array): Uint8Array {
  const bytes = new Uint8Array(values.length * 4);
  const out = new DataView(bytes.buffer);
  values.forEach((value, index) => {
    out.setFloat32(index * 4, value, true);
  });
  return bytes;
}
