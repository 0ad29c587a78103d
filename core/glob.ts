/** Which models a key may use: `*` stands for any text, slashes included, as model ids may hold them. */
export const patternOf = (glob: string): RegExp => new RegExp(`^${glob.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
