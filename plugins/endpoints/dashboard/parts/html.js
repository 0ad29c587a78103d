/** Markup as tagged templates: what is written in a value is text, never markup. */
import { createContext, h, render } from 'preact';
import { useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import htm from 'htm';

export const html = htm.bind(h);
export { createContext, render, useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState };
