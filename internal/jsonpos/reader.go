package jsonpos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxNesting is how many levels of brackets a Reader accepts.
const MaxNesting = 1000

const readSize = 64 << 10 // bytes

// Reader reads strict JSON from a stream, one value at a time and in the order of
// the text: Object and Array walk into a value, Value and Decode read it whole,
// Skip passes over it. Memory is bounded by the largest value that is read whole.
// Every error is an *Error with the place, or what reading the stream returns.
// Invalid UTF-8 in strings becomes U+FFFD, as in encoding/json.
type Reader struct {
	// Python accepts the words that Python's json writes for numbers that are not
	// finite: NaN, Infinity and -Infinity.
	Python bool

	in      io.Reader
	maxSize int64
	size    int64 // bytes read so far
	err     error // of in
	buf     []byte
	pos     int // next byte in buf

	// The bytes before buf: how many, and the position of its first one.
	base         int64
	line, column int

	token            int64  // offset from which buf keeps the text, or -1
	keeping          bool   // a value is being read whole
	whole            *Value // that Value returned last
	path             []step // from the document to the current value
	depth            int    // of brackets
	values           int    // read by the current call of Value
	keyStart, keyEnd int64  // of the current member
}

// step leads from a value to one inside it.
type step struct {
	key   string
	index int // of an element, -1 for a member
}

// NewReader returns a reader of a stream that may have maxSize bytes.
func NewReader(in io.Reader, maxSize int64) *Reader {
	return &Reader{in: in, maxSize: maxSize, line: 1, column: 1, token: -1}
}

// Kind looks at the value that comes next without reading it. It is Invalid at
// the end, and where no value starts.
func (r *Reader) Kind() Kind {
	switch c := r.space(); {
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

// Object reads an object. It calls member behind every key, which must read the
// value. A key that occurs twice is no error.
func (r *Reader) Object(member func(key string) error) error {
	return r.container('{', '}', "an object", func(int) error {
		key, err := r.key()
		if err != nil {
			return err
		}
		r.path = append(r.path, step{key, -1})
		return member(key)
	})
}

// Array reads an array. It calls element for every element, which must read it.
func (r *Reader) Array(element func(index int) error) error {
	return r.container('[', ']', "an array", func(i int) error {
		r.path = append(r.path, step{index: i})
		return element(i)
	})
}

// Skip passes over a value without keeping it.
func (r *Reader) Skip() error {
	switch r.Kind() {
	case Object:
		return r.Object(func(string) error { return r.Skip() })
	case Array:
		return r.Array(func(int) error { return r.Skip() })
	default:
		_, err := r.scalar()
		return err
	}
}

// Scalar reads a value that is no object and no array. It returns what the value is
// and its text: of a string that without quotes and escapes, nothing for null.
func (r *Reader) Scalar() (Kind, string, error) {
	kind := r.Kind()
	text, err := r.scalar()
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

// Unexpected is the error for the value that comes next where another one is wanted.
func (r *Reader) Unexpected(wanted string) error {
	r.space()
	return r.unexpected(wanted)
}

// Offset is the place of the value that comes next, in bytes.
func (r *Reader) Offset() int64 {
	r.space()
	return r.offset()
}

// Value reads a value with all that is in it: at most MaxValues values.
func (r *Reader) Value() (*Value, error) {
	r.values = 0
	err := r.keep(func() (err error) {
		r.whole, err = r.value()
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.whole, nil
}

// Decode reads a value into what v points to, as json.Unmarshal does.
func (r *Reader) Decode(v any) error {
	if err := r.keep(r.Skip); err != nil {
		return err
	}
	err := json.Unmarshal(r.buf[r.token-r.base:r.pos], v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		path := r.where()
		if wrong.Field != "" {
			path = strings.TrimPrefix(path+"."+wrong.Field, ".")
		}
		return r.errorAt(r.token, path, wrong.Value, "a value for "+wrong.Type.String())
	}
	return err
}

// End wants that only white space follows.
func (r *Reader) End() error {
	if r.space(); r.pos < len(r.buf) || !errors.Is(r.err, io.EOF) {
		return r.unexpected("the end of the file")
	}
	return nil
}

// Mismatch is the error for a value that is not what was wanted. The value must
// be the one that Value returned last, or inside it.
func (r *Reader) Mismatch(v *Value, wanted string) error {
	path := slices.Clone(r.path)
	var find func(in *Value) bool
	find = func(in *Value) bool {
		if in == v {
			return true
		}
		n := len(path)
		for i := range in.Members {
			if path = append(path[:n], step{in.Members[i].Key, -1}); find(in.Members[i].Value) {
				return true
			}
		}
		for i, e := range in.Elems {
			if path = append(path[:n], step{index: i}); find(e) {
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

// keep reads a value and keeps its text until the next one is read.
func (r *Reader) keep(read func() error) error {
	r.token = -1
	r.space()
	r.token, r.keeping = r.offset(), true
	err := read()
	r.keeping = false
	return err
}

func (r *Reader) value() (*Value, error) {
	if r.values++; r.values > MaxValues {
		return nil, r.wrong(fmt.Sprintf("more than %d values", MaxValues), "fewer")
	}
	kind := r.Kind()
	v := &Value{Kind: kind, Start: int(r.offset())}
	var err error
	switch kind {
	case Object:
		err = r.Object(func(key string) error {
			m := Member{Key: key, KeyStart: int(r.keyStart), KeyEnd: int(r.keyEnd)}
			var err error
			m.Value, err = r.value()
			v.Members = append(v.Members, m)
			return err
		})
	case Array:
		err = r.Array(func(int) error {
			e, err := r.value()
			v.Elems = append(v.Elems, e)
			return err
		})
	default:
		var text []byte
		if text, err = r.scalar(); err == nil && kind == String {
			v.Text = unquote(text)
		} else if err == nil && kind != Null {
			v.Text = string(text)
		}
	}
	v.End = int(r.offset())
	return v, err
}

// container reads brackets with items and commas between.
func (r *Reader) container(opening, closing byte, what string, item func(i int) error) error {
	if r.space() != opening {
		return r.unexpected(what)
	}
	if !r.keeping {
		r.token = -1
	}
	if r.depth == MaxNesting {
		return r.wrong(fmt.Sprintf("more than %d levels of brackets", MaxNesting), "fewer")
	}
	r.depth++
	r.pos++
	for i := 0; ; i++ {
		switch c := r.space(); {
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

// key reads the key of a member and the colon behind it.
func (r *Reader) key() (string, error) {
	if r.space() != '"' {
		return "", r.unexpected("a key in double quotes")
	}
	r.keyStart = r.offset()
	text, err := r.scalar()
	if err != nil {
		return "", err
	}
	key := unquote(text)
	r.keyEnd = r.offset()
	if r.space() != ':' {
		return "", r.unexpected(`":"`)
	}
	r.pos++
	return key, nil
}
