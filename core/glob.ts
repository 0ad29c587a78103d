/** The regular expression of a glob over model names: `*` stands for any text, slashes included, because model ids may contain slashes. */
export const patternOf = (glob: string): RegExp => new RegExp(`^${glob.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
