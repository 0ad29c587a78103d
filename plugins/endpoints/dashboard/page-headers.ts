/** The security headers of the dashboard: no content from other sites, no markup made from texts, no frames around the page. */

const common = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** The headers of scripts and styles. */
export const assetHeaders: Readonly<Record<string, string>> = common;

/** The headers of a page. `scriptHash` is the hash of the import map, the only script inside the page. */
export function pageHeaders(scriptHash: string): Record<string, string> {
  const policy = {
    'default-src': "'none'",
    'script-src': `'self' '${scriptHash}'`,
    'style-src': "'self'",
    'img-src': "'self' data:",
    'font-src': "'self'",
    'connect-src': "'self'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
    'base-uri': "'none'",
    // safety: no library can turn a string into markup or code
    'require-trusted-types-for': "'script'",
  };
  return {
    ...common,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': Object.entries(policy)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    'x-frame-options': 'DENY',
  };
}
