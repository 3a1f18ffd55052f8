import ipaddr from "ipaddr.js";

/** The only part of IPv6 that is given out for the Internet ("IPv6 Global Unicast Address Assignments", IANA). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/** How IPv6-only networks reach an IPv4 address: its last 32 bits (RFC 6052). */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/**
 * Whether a literal IPv4 or IPv6 address is one of the Internet's: not private, loopback, link-local (where AWS
 * keeps its metadata), shared, reserved or multicast. IPv4-mapped and NAT64 addresses are judged by the IPv4
 * address in them, 6to4 and Teredo, which anybody can make up, are refused.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const judged = carried(ipaddr.parse(address));
  if (judged.range() !== "unicast") return false;
  // The library counts as unicast what has no name, the obsolete `::127.0.0.1` included.
  return judged.kind() === "ipv4" || judged.match(GLOBAL_UNICAST);
}

/** The IPv4 address in an IPv6 one that stands for it, else the address itself. */
function carried(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (!address.isIPv4MappedAddress() && !address.match(NAT64)) return address;
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}
