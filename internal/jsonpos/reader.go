package jsonpos

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// MaxNesting is the deepest nesting of brackets that a Reader accepts.
const MaxNesting = 1000

// Read sizes in bytes: the first is small, since many files are; each next one is twice as large.
const firstRead, readSize = 8 << 10, 64 << 10

// Reader reads strict JSON from a stream, one value at a time in text order: Object and Array walk
// into a value, Value and Decode read it whole, Skip skips it. Memory is bounded by the largest
// value read whole. Every error is an *Error with its place, or an error of the stream. Invalid
// UTF-8 in strings becomes U+FFFD, as in encoding/json.
type Reader struct {
	// Python accepts the words of Python's json for non-finite numbers: NaN, Infinity and
	// -Infinity.
	Python bool

	in      io.Reader
	maxSize int64
	size    int64 // bytes read so far
	err     error // of in
	buf     []byte
	pos     int // next byte in buf

	// Length and end position of the bytes before buf.
	base         int64
	line, column int

	token            int64      // buf keeps the text from this offset on, -1 for none
	keeping          bool       // a value is being read whole
	whole            *Value     // the last result of Value
	path             []pathStep // from the document to the current value
	depth            int        // number of open brackets
	values           int        // read by the current call of Value
	keyStart, keyEnd int64      // of the current member
}

// pathStep leads from a value to a child.
type pathStep struct {
	key   string
	index int // of an element, -1 for a member
}

// NewReader returns a reader of a stream of at most maxSize bytes.
func NewReader(in io.Reader, maxSize int64) *Reader {
	return &Reader{in: in, maxSize: maxSize, line: 1, column: 1, token: -1}
}

// ReaderOf returns a reader of a text in memory, which it does not modify.
func ReaderOf(text []byte) *Reader {
	return &Reader{buf: text, err: io.EOF, size: int64(len(text)), maxSize: int64(len(text)), line: 1, column: 1, token: -1}
}

// Kind returns the kind of the next value without reading it; Invalid at the end, and if no value
// begins here.
func (r *Reader) Kind() Kind {
	switch c := r.skipSpace(); {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	case c == '-' || isDigit(c) || r.Python && (c == 'N' || c == 'I'):
		return Number
	default:
		return Invalid
	}
}

// Object reads an object. It calls member behind every key; member must read the value. A repeated
// key is no error.
func (r *Reader) Object(member func(key string) error) error {
	return r.readItems('{', '}', "an object", func(int) error {
		key, err := r.readKey()
		if err != nil {
			return err
		}
		r.path = append(r.path, pathStep{key, -1})
		return member(key)
	})
}

// Array reads an array. It calls element for every element; element must read it.
func (r *Reader) Array(element func(index int) error) error {
	return r.readItems('[', ']', "an array", func(i int) error {
		r.path = append(r.path, pathStep{index: i})
		return element(i)
	})
}

// Skip skips a value.
func (r *Reader) Skip() error {
	switch r.Kind() {
	case Object:
		return r.Object(func(string) error { return r.Skip() })
	case Array:
		return r.Array(func(int) error { return r.Skip() })
	default:
		_, err := r.readScalar()
		return err
	}
}

// Scalar reads a value other than an object or array. It returns its kind and text: a string unquoted, nothing for
// null.
func (r *Reader) Scalar() (Kind, string, error) {
	kind := r.Kind()
	text, err := r.readScalar()
	switch {
	case err != nil:
		return Invalid, "", err
	case kind == String:
		return kind, unquote(text), nil
	case kind == Null:
		return kind, "", nil
	}
	return kind, string(text), nil
}

// Unexpected returns the error for the next value if another one is wanted.
func (r *Reader) Unexpected(wanted string) error {
	r.skipSpace()
	return r.unexpected(wanted)
}

// Offset returns the offset of the next value in bytes.
func (r *Reader) Offset() int64 {
	r.skipSpace()
	return r.offset()
}

// Value reads a value with all its contents, at most MaxValues values.
func (r *Reader) Value() (*Value, error) {
	r.values = 0
	err := r.keepText(func() (err error) {
		r.whole, err = r.readValue()
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.whole, nil
}

// Decode reads a value into what v points to, as json.Unmarshal does.
func (r *Reader) Decode(v any) error {
	if err := r.keepText(r.Skip); err != nil {
		return err
	}
	text := r.buf[r.token-r.base : r.pos]
	if !r.Python && decodePlain(text, v) {
		return nil
	}
	var err error
	if own, ok := v.(json.Unmarshaler); ok && !r.Python {
		err = own.UnmarshalJSON(text) // UnmarshalJSON accepts only JSON
	} else {
		err = json.Unmarshal(text, v)
	}
	if err == nil {
		return nil
	}
	inside, at := findCulprit(text, reflect.TypeOf(v).Elem())
	path, offset := append(slices.Clip(r.path), inside...), r.token+int64(at)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return r.errorAt(offset, pathText(path), wrong.Value, "a value for "+wrong.Type.String())
	}
	return r.withPlaceAt(offset, path, err)
}

// maxTried limits the children of a value that culprit tries.
const maxTried = 256

// findCulprit finds the value that prevents decoding a text to a type: the innermost value whose
// replacement by null or 0 helps.
func findCulprit(text []byte, into reflect.Type) (path []pathStep, at int) {
	v, err := ReaderOf(text).Value()
	if err != nil {
		return nil, 0
	}
	tried := 0
	decodes := func(of *Value, instead string) bool {
		return json.Unmarshal(slices.Concat(text[:of.Start], []byte(instead), text[of.End:]), reflect.New(into).Interface()) == nil
	}
	try := func(of *Value, s pathStep) bool {
		if tried++; tried > maxTried || !decodes(of, "null") && !decodes(of, "0") {
			return false
		}
		v, path, at, tried = of, append(path, s), of.Start, 0
		return true
	}
	member := func(m Member) bool { return try(m.Value, pathStep{m.Key, -1}) }
	for found := true; found; {
		in := v
		found = slices.ContainsFunc(in.Members, member)
		for i := 0; !found && i < len(in.Elems); i++ {
			found = try(in.Elems[i], pathStep{index: i})
		}
	}
	return path, at
}

// WithPlace adds the place of the next value to an error.
func (r *Reader) WithPlace(err error) error { return r.withPlaceAt(r.Offset(), r.path, err) }

func (r *Reader) withPlaceAt(offset int64, path []pathStep, err error) error {
	e := &Error{Path: pathText(path), Offset: offset, Err: err}
	e.Line, e.Column = advance(r.line, r.column, r.buf[:offset-r.base])
	return e
}

// decodePlain decodes common simple values like json.Unmarshal, and reports whether it did.
func decodePlain(text []byte, v any) bool {
	switch v := v.(type) {
	case *bool:
		if !isConstant(text) {
			return false
		}
		if text[0] != 'n' { // null changes nothing
			*v = text[0] == 't'
		}
		return true
	case *int:
		n, err := strconv.Atoi(string(text))
		if err == nil {
			*v = n
		}
		return err == nil
	case *int64:
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err == nil {
			*v = n
		}
		return err == nil
	case json.Unmarshaler, encoding.TextUnmarshaler, *json.Number:
		return false
	}
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || to.IsNil() || to.Elem().Kind() != reflect.String || text[0] != '"' || bytes.IndexByte(text, '\\') >= 0 || !utf8.Valid(text) {
		return false
	}
	to.Elem().SetString(string(text[1 : len(text)-1]))
	return true
}

// End returns an error unless only white space follows.
func (r *Reader) End() error {
	if r.skipSpace(); r.pos < len(r.buf) || !errors.Is(r.err, io.EOF) {
		return r.unexpected("the end of the file")
	}
	return nil
}

// Mismatch returns the error for an unwanted value, which is the last result of Value or a value inside it.
func (r *Reader) Mismatch(v *Value, wanted string) error {
	path := slices.Clone(r.path)
	var find func(in *Value) bool
	find = func(in *Value) bool {
		if in == v {
			return true
		}
		n := len(path)
		for i := range in.Members {
			if path = append(path[:n], pathStep{in.Members[i].Key, -1}); find(in.Members[i].Value) {
				return true
			}
		}
		for i, e := range in.Elems {
			if path = append(path[:n], pathStep{index: i}); find(e) {
				return true
			}
		}
		path = path[:n]
		return false
	}
	find(r.whole)
	found := v.Kind.String()
	if v.Kind > Null && v.Kind < Array {
		found = excerpt(r.buf[int64(v.Start)-r.base : int64(v.End)-r.base])
	}
	return r.errorAt(int64(v.Start), pathText(path), found, wanted)
}

// keepText reads a value and keeps its text until the next value is read.
func (r *Reader) keepText(read func() error) error {
	r.token = -1
	r.skipSpace()
	r.token, r.keeping = r.offset(), true
	err := read()
	r.keeping = false
	return err
}

func (r *Reader) readValue() (*Value, error) {
	if r.values++; r.values > MaxValues {
		return nil, r.withPlaceAt(r.offset(), r.path, lang.Errorf("found more than %d values, wanted fewer", MaxValues))
	}
	kind := r.Kind()
	v := &Value{Kind: kind, Start: int(r.offset())}
	var err error
	switch kind {
	case Object:
		err = r.Object(func(key string) error {
			m := Member{Key: key, KeyStart: int(r.keyStart), KeyEnd: int(r.keyEnd)}
			var err error
			m.Value, err = r.readValue()
			v.Members = append(v.Members, m)
			return err
		})
	case Array:
		err = r.Array(func(int) error {
			e, err := r.readValue()
			v.Elems = append(v.Elems, e)
			return err
		})
	default:
		var text []byte
		if text, err = r.readScalar(); err == nil && kind == String {
			v.Text = unquote(text)
		} else if err == nil && kind != Null {
			v.Text = string(text)
		}
	}
	v.End = int(r.offset())
	return v, err
}

// readItems reads brackets with comma-separated items.
func (r *Reader) readItems(opening, closing byte, what string, item func(i int) error) error {
	if r.skipSpace() != opening {
		return r.unexpected(what)
	}
	if !r.keeping {
		r.token = -1
	}
	if r.depth == MaxNesting {
		return r.withPlaceAt(r.offset(), r.path, lang.Errorf("found more than %d levels of brackets, wanted fewer", MaxNesting))
	}
	r.depth++
	r.pos++
	for i := 0; ; i++ {
		switch c := r.skipSpace(); {
		case c == closing && i == 0:
		case i == 0, c == ',':
			if i > 0 {
				r.pos++
			}
			n := len(r.path)
			if err := item(i); err != nil {
				return err
			}
			r.path = r.path[:n]
			continue
		case c != closing:
			return r.unexpected(fmt.Sprintf(`"," or "%c"`, closing))
		}
		r.pos++
		r.depth--
		return nil
	}
}

// readKey reads the key of a member and the colon behind it.
func (r *Reader) readKey() (string, error) {
	if r.skipSpace() != '"' {
		return "", r.unexpected("a key in double quotes")
	}
	r.keyStart = r.offset()
	text, err := r.readScalar()
	if err != nil {
		return "", err
	}
	key := unquote(text)
	r.keyEnd = r.offset()
	if r.skipSpace() != ':' {
		return "", r.unexpected(`":"`)
	}
	r.pos++
	return key, nil
}

// peek returns the next byte, or 0 at the end.
func (r *Reader) peek() byte {
	if r.pos < len(r.buf) || r.fill() {
		return r.buf[r.pos]
	}
	return 0
}

// fill reads more bytes and drops consumed ones.
func (r *Reader) fill() bool {
	if r.err != nil {
		return false
	}
	if drop := r.firstNeeded(); drop > 0 {
		gone := r.buf[:drop]
		r.line, r.column = advance(r.line, r.column, gone)
		r.base += int64(drop)
		r.buf = r.buf[:copy(r.buf, r.buf[drop:])]
		r.pos -= drop
	}
	for tries := 0; r.err == nil; tries++ {
		if some := min(max(firstRead, cap(r.buf)), readSize); cap(r.buf)-len(r.buf) < some/2 {
			r.buf = slices.Grow(r.buf, some)
		}
		n, err := r.in.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf, r.err = r.buf[:len(r.buf)+n], err
		switch r.size += int64(n); {
		case r.size > r.maxSize:
			r.err = lang.Errorf("the file is larger than %d MiB", r.maxSize>>20)
			r.buf = r.buf[:len(r.buf)-n]
			return false
		case n > 0:
			return true
		case tries == 100:
			r.err = io.ErrNoProgress
		}
	}
	return false
}

// firstNeeded returns the index in buf of the first byte still needed. It does not split a character.
func (r *Reader) firstNeeded() int {
	first := r.pos
	if r.token >= 0 {
		first = int(r.token - r.base)
	}
	for back := 0; back < utf8.UTFMax && first > 0 && first < len(r.buf) && !utf8.RuneStart(r.buf[first]); back++ {
		first--
	}
	return first
}

func (r *Reader) offset() int64 { return r.base + int64(r.pos) }

// unexpected returns the error for the next character.
func (r *Reader) unexpected(wanted string) error {
	for !utf8.FullRune(r.buf[r.pos:]) && r.fill() {
	}
	if r.pos < len(r.buf) {
		_, size := utf8.DecodeRune(r.buf[r.pos:])
		return r.errorHere(strconv.Quote(string(r.buf[r.pos:r.pos+size])), wanted)
	}
	if !errors.Is(r.err, io.EOF) {
		return r.err
	}
	return r.errorHere("the end of the file", wanted)
}

// errorHere returns an error at the current position.
func (r *Reader) errorHere(found, wanted string) error {
	return r.errorAt(r.offset(), r.valuePath(), found, wanted)
}

// valuePath returns the path of the current value.
func (r *Reader) valuePath() string { return pathText(r.path) }

func (r *Reader) errorAt(offset int64, path, found, wanted string) error {
	e := &Error{Path: path, Offset: offset, Found: found, Wanted: wanted}
	e.Line, e.Column = advance(r.line, r.column, r.buf[:offset-r.base])
	return e
}

// readScalar reads a value other than an object or array, and returns its text, valid until the next call.
func (r *Reader) readScalar() ([]byte, error) {
	c := r.skipSpace()
	start := r.offset()
	if !r.keeping {
		r.token = start
	}
	var err error
	switch {
	case c == '"':
		err = r.stringLiteral()
	case c == '-' || isDigit(c):
		err = r.readWord(r.isNumber, "a number")
	case r.Python && (c == 'N' || c == 'I'):
		err = r.readWord(isNonFinite, "a number")
	case c == 't' || c == 'f' || c == 'n':
		err = r.readWord(isConstant, "true, false or null")
	default:
		err = r.unexpected("a value")
	}
	return r.buf[start-r.base : r.pos], err
}

// stringLiteral reads a string with its quotes.
func (r *Reader) stringLiteral() error {
	for r.pos++; ; r.pos++ {
		for r.pos < len(r.buf) && r.buf[r.pos] >= ' ' && r.buf[r.pos] != '"' && r.buf[r.pos] != '\\' {
			r.pos++
		}
		switch c := r.peek(); {
		case c == '"':
			r.pos++
			return nil
		case c < ' ':
			return r.unexpected("the rest of the string")
		case c == '\\':
			r.pos++
			c := r.peek()
			if c == 0 || strings.IndexByte(escapes, c) < 0 {
				return r.unexpected("an escape sequence")
			}
			for i := 0; c == 'u' && i < 4; i++ {
				r.pos++
				if !isHex(r.peek()) {
					return r.unexpected("four hexadecimal digits")
				}
			}
		}
	}
}

// readWord reads letters, digits and signs, and checks them with valid.
func (r *Reader) readWord(valid func([]byte) bool, wanted string) error {
	start := r.offset()
	for c := r.peek(); c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c) || c == '-' || c == '+' || c == '.'; c = r.peek() {
		r.pos++
	}
	if text := r.buf[start-r.base : r.pos]; !valid(text) {
		return r.errorAt(start, r.valuePath(), strconv.Quote(excerpt(text)), wanted)
	}
	return nil
}

func (r *Reader) isNumber(text []byte) bool {
	return isNumber(text) || r.Python && isNonFinite(text)
}

func isNonFinite(text []byte) bool {
	return string(text) == "NaN" || string(text) == "Infinity" || string(text) == "-Infinity"
}

func isConstant(text []byte) bool {
	return string(text) == "true" || string(text) == "false" || string(text) == "null"
}

// skipSpace skips white space and returns the byte that follows, or 0 at the end.
func (r *Reader) skipSpace() byte {
	for {
		for r.pos < len(r.buf) {
			switch c := r.buf[r.pos]; c {
			case ' ', '\t', '\r', '\n':
				r.pos++
			default:
				return c
			}
		}
		if !r.fill() {
			return 0
		}
	}
}
