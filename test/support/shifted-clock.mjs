// Preloaded into a child process: its Date is off by CLOCK_SHIFT_MS, its timers run true.
const RealDate = Date
const shift = Number(process.env.CLOCK_SHIFT_MS)

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length > 0) super(...given)
    else super(RealDate.now() + shift)
  }

  static now() {
    return RealDate.now() + shift
  }
}
