import { EgressRefusal } from '../../egress/address.js'
import { requirePublicUrl } from '../../egress/public-url.js'
import { invalid } from '../../errors.js'

/** Throws 422 for an address that would not be called: another scheme than https, another port than 443 and 8443, or not public. Which address a name
 *  stands for is not told. */
export async function requireReachable(
  url: string,
  { egressAllow }: { egressAllow: readonly string[] },
): Promise<void> {
  try {
    await requirePublicUrl(url, { allow: egressAllow })
  } catch (error) {
    if (!(error instanceof EgressRefusal)) throw error
    throw invalid([{ path: 'url', message: 'must be a public https address on port 443 or 8443' }])
  }
}
