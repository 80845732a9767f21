package npy

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// dict reads the Python dict that is the text of a header, as numpy writes it:
// the keys descr, fortran_order and shape in any order, a string, a bool and a
// tuple of integers. Other writers differ in quotes, blanks and the last comma.
type dict struct {
	source
	pos int
}

// The tokens of a header. Integers of Python 2 end in L.
var (
	blanks  = lang.Pattern(`^[ \t\f\r\n]*`)
	quoted  = lang.Pattern(`^(?:'[^'"\\\r\n]*'|"[^'"\\\r\n]*")`)
	boolean = lang.Pattern(`^(?:True|False)\b`)
	tuple   = lang.Pattern(`^\(\s*(?:(?:-?[0-9]+L?\s*,\s*)+(?:-?[0-9]+L?\s*)?)?\)`)
)

// parseHeader reads the dict of a header: exactly the keys descr, fortran_order
// and shape, as numpy demands.
func parseHeader(text source) (Header, error) {
	d := &dict{source: text}
	var h Header
	seen := map[string]bool{}
	if !d.skip("{") {
		return Header{}, d.unexpected("{")
	}
	for !d.skip("}") {
		if len(seen) > 0 && !d.skip(",") {
			return Header{}, d.unexpected("a comma or }")
		} else if d.skip("}") {
			break
		}
		at := d.pos
		key, ok := d.take(quoted())
		if !ok {
			return Header{}, d.unexpected("a key in quotes")
		}
		key = key[1 : len(key)-1]
		read, known := d.values(&h)[key]
		switch {
		case !known:
			d.pos = at
			return Header{}, d.unexpected("one of the keys descr, fortran_order and shape")
		case seen[key]:
			d.pos = at
			return Header{}, d.unexpected("every key once")
		case !d.skip(":"):
			return Header{}, d.unexpected("a colon")
		}
		if err := read(); err != nil {
			return Header{}, err
		}
		seen[key] = true
	}
	for _, key := range headerKeys {
		if !seen[key] {
			return Header{}, &FormatError{d.off, "header has no key " + key, nil}
		}
	}
	if d.blanks(); d.pos < len(d.data) {
		return Header{}, d.unexpected("the end of the header")
	}
	return h, nil
}

var headerKeys = []string{"descr", "fortran_order", "shape"}

// values are the readers of the values into h, by key.
func (d *dict) values(h *Header) map[string]func() error {
	return map[string]func() error{
		"descr":         func() (err error) { h.Host, h.BigEndian, err = d.descr(); return err },
		"fortran_order": func() (err error) { h.Fortran, err = d.order(); return err },
		"shape":         func() (err error) { h.Shape, err = d.shape(); return err },
	}
}

func (d *dict) descr() (host tensor.Host, bigEndian bool, err error) {
	d.blanks()
	at := d.off + int64(d.pos)
	if rest := d.data[d.pos:]; bytes.HasPrefix(rest, []byte("[")) || bytes.HasPrefix(rest, []byte("(")) {
		return 0, false, &UnsupportedError{at, "structured element type is not supported", string(rest)}
	}
	text, ok := d.take(quoted())
	if !ok {
		return 0, false, d.unexpected("a type string")
	}
	host, bigEndian, ok = parseDescr(text[1 : len(text)-1])
	switch {
	case ok:
		return host, bigEndian, nil
	case otherType().MatchString(text[1 : len(text)-1]):
		return 0, false, &UnsupportedError{at, "element type is not supported", text}
	}
	return 0, false, &FormatError{at, "descr is not a type string of numpy", text}
}

func (d *dict) order() (fortran bool, err error) {
	text, ok := d.take(boolean())
	if !ok {
		return false, d.unexpected("True or False")
	}
	return text == "True", nil
}

func (d *dict) shape() (tensor.Shape, error) {
	d.blanks()
	at := d.off + int64(d.pos)
	text, ok := d.take(tuple())
	if !ok {
		return nil, d.unexpected("a tuple of integers")
	}
	var shape tensor.Shape
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !strings.ContainsRune("-0123456789", r) }) {
		n, err := strconv.ParseInt(word, 10, 64)
		switch {
		case err != nil:
			return nil, &FormatError{at, "dimension is over 63 bits", word}
		case n < 0:
			return nil, &FormatError{at, "shape has a negative dimension", text}
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// take returns the token that is next and steps over it.
func (d *dict) take(token *regexp.Regexp) (string, bool) {
	d.blanks()
	found := token.Find(d.data[d.pos:])
	d.pos += len(found)
	return string(found), found != nil
}

// skip steps over a punctuation mark if it is next.
func (d *dict) skip(mark string) bool {
	d.blanks()
	ok := bytes.HasPrefix(d.data[d.pos:], []byte(mark))
	if ok {
		d.pos += len(mark)
	}
	return ok
}

func (d *dict) blanks() { d.pos += len(blanks().Find(d.data[d.pos:])) }

// unexpected reports that the text does not go on as it should.
func (d *dict) unexpected(want string) error {
	off := d.off + int64(d.pos)
	if d.pos >= len(d.data) {
		return &FormatError{off, "header ends, want " + want, nil}
	}
	return &FormatError{off, "header is not a dict of numpy, want " + want, string(d.data[d.pos:])}
}
