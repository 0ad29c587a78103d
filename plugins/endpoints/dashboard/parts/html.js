/** Markup as tagged templates. A value inside a template is always shown as text and never becomes markup. */
import { createContext, h, render } from 'preact';
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import htm from 'htm';

export const html = htm.bind(h);
export { createContext, render, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState };
