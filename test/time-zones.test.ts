import moment, { type MomentZone } from 'moment-timezone'
import { isTimeZone, readSchedule, toLocal } from '../src/time-zones.js'

const MINUTE_MS = 60_000
const FIRST = Date.UTC(2024, 0)
const END = Date.UTC(2038, 0)

/** YYYY-MM-DDTHH:mm:ss of a wall clock kept as if it were UTC. */
function wallClock(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19)
}

function scheduleOf(text: string, zone: string) {
  const read = readSchedule(text, zone)
  if ('problem' in read) throw new Error(`${text} ${read.problem}`)
  return read
}

test('an instant keeps its own offset, whatever the zone', () => {
  for (const text of ['2026-03-29T02:30:00+05:30', '2026-03-28T21:00Z', '2026-03-28T21:00:00.000-00:00'])
    expect(readSchedule(text, 'Europe/Berlin')).toEqual({
      instant: new Date('2026-03-28T21:00:00Z'),
      local: null,
      notice: null,
    })
})

test('a wall clock is read in its zone, with or without seconds and a fraction', () => {
  const summer = { local: '2026-07-01T09:00:00', notice: null }
  expect(readSchedule('2026-07-01T09:00', 'Europe/Berlin')).toEqual({
    ...summer,
    instant: new Date('2026-07-01T07:00Z'),
  })
  expect(readSchedule('2026-07-01T09:00:00', 'Asia/Kathmandu')).toEqual({
    ...summer,
    instant: new Date('2026-07-01T03:15Z'),
  })
  expect(readSchedule('2026-07-01T09:00:07.250999', 'UTC')).toEqual({
    instant: new Date('2026-07-01T09:00:07.250Z'),
    local: '2026-07-01T09:00:07',
    notice: null,
  })
})

test('a time in a gap moves forward by the gap, and says so', () => {
  expect(readSchedule('2026-03-29T02:30', 'Europe/Berlin')).toEqual({
    instant: new Date('2026-03-29T01:30:00Z'),
    local: '2026-03-29T02:30:00',
    notice: {
      kind: 'gap',
      requested: '2026-03-29T02:30:00',
      scheduled_at: '2026-03-29T01:30:00.000Z',
      timezone: 'Europe/Berlin',
      message: '02:30 does not exist on 2026-03-29 in Europe/Berlin, as clocks go forward; moved to 03:30.',
    },
  })
})

test('a time that happens twice means the earlier, and says so', () => {
  expect(readSchedule('2026-10-25T02:30', 'Europe/Berlin')).toEqual({
    instant: new Date('2026-10-25T00:30:00Z'),
    local: '2026-10-25T02:30:00',
    notice: {
      kind: 'overlap',
      requested: '2026-10-25T02:30:00',
      scheduled_at: '2026-10-25T00:30:00.000Z',
      timezone: 'Europe/Berlin',
      message:
        '02:30 happens twice on 2026-10-25 in Europe/Berlin, as clocks go back; taken as the earlier, UTC+02:00.',
    },
  })
})

test('the notice says in words what happened, also where a day or half an hour is left out', () => {
  const messageOf = (text: string, zone: string) => scheduleOf(text, zone).notice?.message
  expect(messageOf('2026-10-04T02:15:30', 'Australia/Lord_Howe')).toBe(
    '02:15:30 does not exist on 2026-10-04 in Australia/Lord_Howe, as clocks go forward; moved to 02:45:30.',
  )
  expect(messageOf('2026-03-28T23:30', 'America/Nuuk')).toBe(
    '23:30 does not exist on 2026-03-28 in America/Nuuk, as clocks go forward; moved to 00:30 on 2026-03-29.',
  )
  expect(messageOf('2011-12-30T12:00', 'Pacific/Apia')).toBe(
    '12:00 does not exist on 2011-12-30 in Pacific/Apia, as clocks go forward; moved to 12:00 on 2011-12-31.',
  )
  expect(messageOf('2026-04-05T01:45', 'Australia/Lord_Howe')).toBe(
    '01:45 happens twice on 2026-04-05 in Australia/Lord_Howe, as clocks go back; taken as the earlier, UTC+11:00.',
  )
})

test('an offset chooses the later of two equal wall clocks', () => {
  expect(scheduleOf('2026-10-25T02:30+01:00', 'Europe/Berlin')).toMatchObject({
    instant: new Date('2026-10-25T01:30:00Z'),
    notice: null,
  })
})

/** By what the problem says of them. */
const UNREADABLE: Record<string, string[]> = {
  'must be a local date and time such as': [
    ...['', 'tomorrow', '1774748000', '2026-03-29', '2026-03-29T', '2026-03-29T09', '2026-3-29T9:00'],
    ...['20260329T090000', '2026-W13T09:00'],
    ...['+002026-03-29T09:00', '-2026-03-29T09:00', '2026-W13-7T09:00', '2026-088T09:00', '２０２６-03-29T09:00'],
    ...['2026-03-29t09:00', '2026-03-29T09:00z', '2026-03-29 09:00', '2026-03-29T09:00 CET'],
    ...[' 2026-03-29T09:00', '2026-03-29T09:00 ', '2026-03-29T09:00\n', '2026-03-29T09:00\n2026-03-29T09:00'],
    ...['2026-03-29T09:00:00.', '2026-03-29T09:00:00,5', '2026-03-29T09:00:00.0123456789', '2026-03-29T09:00.5'],
    ...['2026-03-29T09:00+02', '2026-03-29T09:00+0200', '2026-03-29T09:00+02:00:00', '2026-03-29T09:00−02:00'],
    ...['2026-03-29T09:00[Europe/Berlin]', '2026-03-29T09:00+02:00[Europe/Berlin]'],
  ],
  'names a day that does not exist': [
    ...['2026-02-30T09:00', '2026-02-30T09:00Z', '2026-02-29T09:00', '2100-02-29T09:00', '2026-04-31T09:00+02:00'],
    ...['2026-13-01T09:00', '2026-00-01T09:00', '2026-04-00T09:00', '2026-04-32T09:00Z'],
  ],
  'names a time of day that does not exist': [
    ...['2026-03-29T24:00', '2026-03-29T24:00:00Z', '2026-03-29T25:00', '2026-03-29T09:60', '2026-03-29T09:00:61'],
    ...['2026-12-31T23:59:60', '2026-12-31T23:59:60.5Z'],
  ],
  'names an offset that does not exist': ['2026-03-29T09:00+24:00', '2026-03-29T09:00-05:60'],
}

test('what is no time is refused with a sentence that says why', () => {
  for (const [problem, texts] of Object.entries(UNREADABLE))
    for (const text of texts)
      expect([text, readSchedule(text, 'Europe/Berlin')]).toEqual([text, { problem: expect.stringContaining(problem) }])
})

test('a leap day is a day in a leap year', () => {
  expect(scheduleOf('2028-02-29T09:00', 'UTC').instant).toEqual(new Date('2028-02-29T09:00Z'))
})

test('an instant is shown as its zone’s clock shows it, to the second', () => {
  const instant = new Date('2026-03-29T01:30:15.999Z')
  expect(toLocal(instant, 'Europe/Berlin')).toBe('2026-03-29T03:30:15')
  expect(toLocal(instant, 'America/St_Johns')).toBe('2026-03-28T23:00:15')
})

test('what shows a zone without naming one is not a time zone', () => {
  const offsetsAndAbbreviations = '+02:00 -05 +0200 UTC+2 GMT+5 Etc/GMT+15 Z CEST PDT PST IST SystemV/PST8'.split(' ')
  const slips = ['', ' ', 'Europe/Berlin ', 'Europe/Berlin\0', 'Europe\\Berlin', 'europe/berlin', 'Amerika/Berlin']
  const others = ['localtime', 'Factory', 'constructor', '2026-01-01T00:00[Europe/Berlin]']
  expect([...offsetsAndAbbreviations, ...slips, ...others].filter(isTimeZone)).toEqual([])
})

test('names of the IANA database are time zones, its links and old names too', () => {
  const names = 'UTC GMT CET EST Etc/GMT+5 Europe/Kyiv Europe/Kiev Asia/Kolkata US/Pacific GB-Eire'.split(' ')
  expect(names.filter((name) => !isTimeZone(name))).toEqual([])
})

function change(release: string, from: string, what: string, zones: string) {
  return { release, from: Date.parse(from), what, zones: zones.split(' ') }
}

describe(`against moment-timezone, which has data of its own (${moment.tz.dataVersion}; this Node has ${process.versions.tz})`, () => {
  /** What the releases of the IANA database changed of 2024 to 2037. A change excuses differences from its day on, and only while its
   *  release is in one of the two databases and not yet in the other. */
  const CHANGES = [
    change('2025b', '2024-01-01', 'a new zone, of Aysén in Chile', 'America/Coyhaique'),
    change('2026a', '2024-03-31', 'Moldova changes its clocks when the EU does', 'Europe/Chisinau Europe/Tiraspol'),
    change('2026b', '2026-11-01', 'British Columbia stays on -07', 'America/Vancouver Canada/Pacific'),
    change('2026c', '2026-09-20', 'Morocco stays on +00', 'Africa/Casablanca Africa/El_Aaiun'),
    change('2026c', '2026-11-01', 'Alberta stays on -06', 'America/Edmonton America/Yellowknife Canada/Mountain'),
    change('2026d', '2026-11-01', 'the Northwest Territories stay on -06', 'America/Inuvik'),
    change('2026e', '2026-11-01', 'Manitoba stays on -05', 'America/Winnipeg America/Rainy_River Canada/Central'),
    change('2026f', '2026-11-01', 'Cuba does not set its clocks back in 2026', 'America/Havana Cuba'),
  ]
  const [older = '', newer = ''] = [moment.tz.dataVersion, process.versions.tz ?? ''].sort()
  const excuses = CHANGES.filter(({ release }) => older < release && release <= newer)
  const excuseFor = (zone: string, at: number) => excuses.find(({ zones, from }) => zones.includes(zone) && at >= from)

  const names = moment.tz.names()
  const known = names.filter(isTimeZone)

  const differences: { zone: string; at: number; told: string }[] = []
  let compared = 0

  function compare(zone: string, at: number, [what, ours, theirs]: [string, string, string]): void {
    compared++
    if (ours !== theirs) differences.push({ zone, at, told: `${zone} ${what}: ${ours} here, ${theirs} there` })
  }

  function compareReading(zone: string, localMs: number, kind: 'gap' | 'overlap' | null): void {
    const local = wallClock(localMs)
    const { instant, notice } = scheduleOf(local, zone)
    const theirs = moment.tz(local, zone).valueOf()
    compare(zone, theirs, [local, `${instant.getTime()} ${notice?.kind}`, `${theirs} ${kind ?? undefined}`])
  }

  function compareShowing(zone: MomentZone, at: number): void {
    const theirs = wallClock(at - zone.utcOffset(at) * MINUTE_MS)
    compare(zone.name, at, [wallClock(at), toLocal(new Date(at), zone.name), theirs])
  }

  /** A minute before, the first, middle and last of the gap or overlap, and the first after it; and the clock at the instant itself. */
  function compareTransitions(zone: MomentZone): void {
    const { name, untils, offsets } = zone
    for (const [index, at] of untils.entries()) {
      if (!(at >= FIRST && at < END)) continue
      const before = at - offsets[index]! * MINUTE_MS
      const after = at - offsets[index + 1]! * MINUTE_MS
      const [first, end] = before < after ? [before, after] : [after, before]
      compareReading(name, first - MINUTE_MS, null)
      compareReading(name, end, null)
      compareShowing(zone, at - 1)
      compareShowing(zone, at)
      if (first === end) continue // only the name of the time changed
      const kind = before < after ? 'gap' : 'overlap'
      for (const inside of [first, (first + end) / 2, end - MINUTE_MS]) compareReading(name, inside, kind)
    }
  }

  beforeAll(() => {
    for (const name of known) {
      const zone = moment.tz.zone(name)!
      compareTransitions(zone)
      // Between them too: a transition that only this side knows shows here.
      for (let month = 0; month < 14 * 12; month += 2) compareShowing(zone, Date.UTC(2024, month, 15, 12))
    }
  })

  test('every zone is known on both sides, but for those newer than one of them', () => {
    expect(known.length).toBeGreaterThan(590)
    expect(names.filter((name) => !known.includes(name) && !excuseFor(name, FIRST))).toEqual([])
    expect(
      Intl.supportedValuesOf('timeZone').filter((name) => !names.includes(name) && !excuseFor(name, FIRST)),
    ).toEqual([])
  })

  test('both read and show every clock alike, before, inside and after each transition', () => {
    expect(differences.filter(({ zone, at }) => !excuseFor(zone, at)).map(({ told }) => told)).toEqual([])
    expect(compared).toBeGreaterThan(80_000)
  })

  test('a change is excused only where it makes a difference', () => {
    const differing = new Set(differences.map(({ zone }) => zone))
    for (const { release, what, zones } of excuses)
      for (const zone of zones.filter((name) => known.includes(name)))
        expect([release, what, zone, differing.has(zone)]).toEqual([release, what, zone, true])
  })
})
