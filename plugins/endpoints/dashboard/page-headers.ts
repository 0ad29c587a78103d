/** What a browser is told about our pages: nothing from elsewhere, no markup from text, no frame around it. */

const common = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

export const assetHeaders: Readonly<Record<string, string>> = common;

/** `scriptHash`: of the one script in the page, its import map. */
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
    // safety: whatever a library may try, a string never becomes markup or code
    'require-trusted-types-for': "'script'",
  };
  return {
    ...common,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': Object.entries(policy).map(([name, value]) => `${name} ${value}`).join('; '),
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    'x-frame-options': 'DENY',
  };
}
