package opdebug

import "strconv"

// AppendJSON appends the record in the JSON form of the CANN converter:
// fields in file order, four blanks of indentation, addresses as strings in
// hex, no newline at the end.
func (r *Record) AppendJSON(dst []byte) []byte {
	w := jsonWriter{buf: dst}
	w.open('{')
	if r.Generation == OldLayout {
		w.areas(r.Areas)
	} else {
		w.entry(r)
	}
	w.close('}')
	return w.buf
}

// areas writes the areas of the old layout.
func (w *jsonWriter) areas(areas []Area) {
	for i := range areas {
		w.key(areas[i].Unit.String())
		w.area(&areas[i])
	}
}

// entry writes the header and the entry of the new layout.
func (w *jsonWriter) entry(r *Record) {
	w.key("magic")
	w.hex(uint64(r.Header.Magic))
	w.key("version")
	w.number(uint64(r.Header.Version))
	w.key("acc_list")
	w.open('{')
	for _, f := range entryFields {
		w.key(f.name)
		if f.name == accType {
			w.text((AIC + Unit(r.Header.AccType)).String())
			continue
		}
		w.number(uint64(*f.ref(&r.Header)))
	}
	for i := range r.Areas {
		w.key("data")
		w.area(&r.Areas[i])
	}
	w.close('}')
}

// area writes an area's fields.
func (w *jsonWriter) area(a *Area) {
	w.open('{')
	for _, f := range a.Fields() {
		w.key(f.Name)
		switch {
		case len(f.Values) > 1:
			w.open('[')
			for _, v := range f.Values {
				w.next()
				w.number(v)
			}
			w.close(']')
		case f.Hex:
			w.hex(f.Values[0])
		default:
			w.number(f.Values[0])
		}
	}
	w.close('}')
}

// jsonWriter appends indented JSON to a buffer.
type jsonWriter struct {
	buf   []byte
	depth int
	comma bool // the current object or array has a member already
}

func (w *jsonWriter) open(c byte) {
	w.buf = append(w.buf, c)
	w.depth++
	w.comma = false
}

func (w *jsonWriter) close(c byte) {
	w.depth--
	w.newline()
	w.buf = append(w.buf, c)
	w.comma = true
}

// next goes to the place of the next member.
func (w *jsonWriter) next() {
	if w.comma {
		w.buf = append(w.buf, ',')
	}
	w.newline()
	w.comma = true
}

func (w *jsonWriter) newline() {
	w.buf = append(w.buf, '\n')
	for range w.depth {
		w.buf = append(w.buf, "    "...)
	}
}

func (w *jsonWriter) key(name string) {
	w.next()
	w.text(name)
	w.buf = append(w.buf, ": "...)
}

// text writes a string; it holds nothing that needs escapes.
func (w *jsonWriter) text(s string) {
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '"')
}

func (w *jsonWriter) number(v uint64) { w.buf = strconv.AppendUint(w.buf, v, 10) }

func (w *jsonWriter) hex(v uint64) { w.text("0x" + strconv.FormatUint(v, 16)) }
