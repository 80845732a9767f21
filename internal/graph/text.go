package graph

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// isText reports whether a document begins like protobuf text: with a field name or a comment.
func isText(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return len(head) > 0 && (isLetter(head[0]) || head[0] == '#')
}

// readText reads the compiler's graph from protobuf text; the fields are the same as in JSON.
func readText(g *Graph, in io.Reader, attributes bool) error {
	limited := &io.LimitedReader{R: in, N: maxFusion + 1}
	r := &textReader{in: limited, buf: make([]byte, 64<<10), line: 1, graph: g, keep: attributes}
	found, sections := false, 0
	err := r.readFields(0, func(field []byte) error {
		if string(field) != "graph" {
			return r.skip()
		}
		found = true
		sections++
		return r.readSection(sections - 1)
	})
	switch {
	case limited.N == 0:
		return lang.Errorf("found more than %d bytes, wanted fewer", maxFusion)
	case err == nil && !found:
		return lang.Errorf(`found no "graph" in the document, wanted graphs of operators`)
	}
	return err
}

func (r *textReader) readSection(section int) error {
	index := -1
	return r.readMessage(func(field []byte) error {
		if string(field) != "op" {
			return r.skip()
		}
		index++
		return r.readOp(Op{Section: section}, index)
	})
}

func (r *textReader) readOp(op Op, index int) error {
	err := r.readMessage(func(field []byte) error {
		switch string(field) {
		case "name":
			return r.readString(&op.Name)
		case "type":
			return r.readString(&op.Type)
		case "id":
			return r.readScalars(func(text string) (wanted string) {
				var err error
				if op.ID, err = strconv.ParseInt(text, 10, 64); err != nil {
					return "an integer"
				}
				op.HasID = true
				return ""
			})
		case "input":
			return r.readScalars(func(text string) (wanted string) {
				if !op.addInput(text) {
					return inputForm
				}
				return ""
			})
		case "output_desc":
			op.Outputs = append(op.Outputs, Origin{})
			return r.readOutput(&op.Outputs[len(op.Outputs)-1])
		case "attr":
			if r.keep {
				return r.readOpAttribute(&op)
			}
		}
		return r.skip()
	})
	if err != nil {
		return err
	}
	if err := r.graph.addFused(op, index); err != nil {
		return lang.Errorf("line %d: %w", r.line, err)
	}
	return nil
}

// readOutput reads the description of an output; its attributes hold the origin.
func (r *textReader) readOutput(o *Origin) error {
	return r.readMessage(func(field []byte) error {
		if string(field) != "attr" {
			return r.skip()
		}
		return r.readAttribute(o)
	})
}

// maxAttribute limits the kept values of an origin attribute; no tensor has as many dimensions.
const maxAttribute = 64

// readAttribute reads a key and a value into o, if the key belongs to an origin.
func (r *textReader) readAttribute(o *Origin) error {
	var key string
	var values []string
	keep := func(text string) (wanted string) {
		if len(values) < maxAttribute {
			values = append(values, text)
		}
		return ""
	}
	value := func(field []byte) error {
		switch string(field) {
		case "s", "i", "f", "b":
			return r.readScalars(keep)
		}
		return r.skip()
	}
	err := r.readMessage(func(field []byte) error {
		switch {
		case string(field) == "key":
			return r.readString(&key)
		case string(field) == "value" && (key == "" || isOrigin(key)):
			return r.readMessage(func(field []byte) error {
				if string(field) == "list" {
					return r.readMessage(value)
				}
				return value(field)
			})
		}
		return r.skip()
	})
	if err != nil || !isOrigin(key) {
		return err
	}
	if bad, wanted := o.setAttribute(key, values); wanted != "" {
		return r.lineError(lang.Plain(fmt.Sprintf("%s %q", key, values[bad])), lang.Say(wanted))
	}
	return nil
}

// textReader reads protobuf text.
type textReader struct {
	in       io.Reader
	buf      []byte
	pos, end int // unread part of buf
	line     int
	token    []byte // the last word or string
	graph    *Graph
	keep     bool // keep attributes of operators
}

// maxText is the longest kept word or string, in bytes.
const maxText = 64 << 10

// refill refills an empty buffer; io.EOF means the end of the file.
func (r *textReader) refill() error {
	for r.pos == r.end {
		n, err := r.in.Read(r.buf)
		r.pos, r.end = 0, n
		if n == 0 && err != nil {
			return err
		}
	}
	return nil
}

// lineError returns an error with the current line.
func (r *textReader) lineError(found, wanted lang.Sentence) error {
	return lang.Errorf("line %d: found %s, wanted %s", r.line, found, wanted)
}

// wrongByteError returns the error for a byte returned by peek.
func (r *textReader) wrongByteError(c byte, wanted lang.Sentence) error {
	if c == 0 {
		return r.lineError(lang.Say("the end of the file"), wanted)
	}
	return r.lineError(lang.Plain(strconv.QuoteToASCII(string([]byte{c}))), wanted)
}

// peek returns the next byte outside of blanks and comments, 0 at the end of the file.
func (r *textReader) peek() (byte, error) {
	for comment := false; ; r.pos++ {
		if r.pos == r.end {
			if err := r.refill(); errors.Is(err, io.EOF) {
				return 0, nil
			} else if err != nil {
				return 0, err
			}
		}
		switch c := r.buf[r.pos]; {
		case c == '\n':
			r.line++
			comment = false
		case comment || c == ' ' || c == '\t' || c == '\r':
		case c == '#':
			comment = true
		case c == 0:
			return 0, r.lineError(lang.Say("a zero byte"), lang.Say("text"))
		default:
			return c, nil
		}
	}
}

// nextIfAny consumes and returns the next byte if it is in some, else returns 0.
func (r *textReader) nextIfAny(some string) (byte, error) {
	c, err := r.peek()
	if err != nil || c == 0 || strings.IndexByte(some, c) < 0 {
		return 0, err
	}
	r.pos++
	return c, nil
}

// readFields calls read for every field until the byte end, 0 for the end of the file; read must
// consume the value. Extensions, whose names stand in brackets, are skipped.
func (r *textReader) readFields(end byte, read func(field []byte) error) error {
	for {
		c, err := r.nextIfAny(",;")
		if err == nil && c == 0 {
			c, err = r.peek()
		}
		switch {
		case err != nil:
			return err
		case c == ',' || c == ';':
		case c == end:
			r.pos++
			return nil
		case c == '[':
			if err := r.skip(); err != nil { // the name
				return err
			}
			if err := r.skip(); err != nil {
				return err
			}
		case isLetter(c):
			field, err := r.readWord()
			if err == nil {
				err = read(field)
			}
			if err != nil {
				return err
			}
		default:
			return r.wrongByteError(c, lang.Say("the name of a field"))
		}
	}
}

// readMessage reads a message and calls read for each of its fields.
func (r *textReader) readMessage(read func(field []byte) error) error {
	if _, err := r.nextIfAny(":"); err != nil {
		return err
	}
	open, err := r.nextIfAny("{<")
	if err != nil {
		return err
	}
	switch open {
	case '{':
		return r.readFields('}', read)
	case '<':
		return r.readFields('>', read)
	}
	c, err := r.peek()
	if err != nil {
		return err
	}
	return r.wrongByteError(c, lang.Say(`"{"`))
}

// readString reads a string value.
func (r *textReader) readString(s *string) error {
	if _, err := r.nextIfAny(":"); err != nil {
		return err
	}
	c, err := r.peek()
	switch {
	case err != nil:
		return err
	case c != '"' && c != '\'':
		return r.wrongByteError(c, lang.Say("a string"))
	}
	b, err := r.readScalar()
	*s = string(b)
	return err
}

// readScalars calls take for a string, number or word, or for each element of a list. take returns a description of the
// expected text, empty if it accepts the text.
func (r *textReader) readScalars(take func(text string) (wanted string)) error {
	if _, err := r.nextIfAny(":"); err != nil {
		return err
	}
	list, err := r.nextIfAny("[")
	if err != nil {
		return err
	}
	for {
		if list != 0 {
			if c, err := r.nextIfAny("],"); err != nil || c == ']' {
				return err
			} else if c == ',' {
				continue
			}
		}
		text, err := r.readScalar()
		if err != nil {
			return err
		}
		if wanted := take(string(text)); wanted != "" {
			return r.lineError(lang.Plain(strconv.Quote(string(text))), lang.Say(wanted))
		}
		if list == 0 {
			return nil
		}
	}
}

// readScalar reads a string, a number or a word, valid until the next read.
func (r *textReader) readScalar() ([]byte, error) {
	c, err := r.peek()
	switch {
	case err != nil:
		return nil, err
	case c == '"' || c == '\'':
		r.token = r.token[:0]
		err := r.readQuoted(true)
		return r.token, err
	case !wordBytes[c]:
		return nil, r.wrongByteError(c, lang.Say("a value"))
	}
	return r.readWord()
}

// skip skips the value of a field, or the bracketed name of an extension.
func (r *textReader) skip() error {
	if _, err := r.nextIfAny(":"); err != nil {
		return err
	}
	for depth := 0; ; {
		c, err := r.peek()
		switch {
		case err != nil:
			return err
		case c == '{' || c == '<' || c == '[':
			depth++
			r.pos++
		case (c == '}' || c == '>' || c == ']') && depth > 0:
			depth--
			r.pos++
		case depth > 0 && (c == ',' || c == ';' || c == ':' || c == '/'):
			r.pos++
		case c == '"' || c == '\'':
			err = r.readQuoted(false)
		case wordBytes[c]:
			_, err = r.readWord()
		default:
			return r.wrongByteError(c, lang.Say("a value"))
		}
		if err != nil || depth == 0 {
			return err
		}
	}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// wordBytes marks the bytes of names, numbers and words.
var wordBytes = func() (set [256]bool) {
	for c := range set {
		set[c] = isLetter(byte(c)) || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '+'
	}
	return set
}()

// readWord reads a name, a number or a word, valid until the next read.
func (r *textReader) readWord() ([]byte, error) {
	r.token = r.token[:0]
	for {
		if err := r.refill(); errors.Is(err, io.EOF) {
			return r.token, nil
		} else if err != nil {
			return nil, err
		}
		n := r.pos
		for n < r.end && wordBytes[r.buf[n]] {
			n++
		}
		r.token = append(r.token, r.buf[r.pos:n]...)
		r.pos = n
		if len(r.token) > maxText {
			return nil, r.lineError(lang.Say("a word of more than %d bytes", maxText), lang.Say("a shorter one"))
		}
		if n < r.end {
			return r.token, nil
		}
	}
}

// readQuoted reads a string: adjacent quoted literals. keep appends it to the token.
func (r *textReader) readQuoted(keep bool) error {
	for {
		quote, err := r.nextIfAny(`"'`)
		if err != nil || quote == 0 {
			return err
		}
		if err := r.readLiteral(quote, keep); err != nil {
			return err
		}
	}
}

// readLiteral reads a literal behind its opening quote.
func (r *textReader) readLiteral(quote byte, keep bool) error {
	for {
		c, err := r.nextByte()
		switch {
		case err != nil:
			return err
		case c == '\n':
			return r.lineError(lang.Say("the end of the line"), lang.Say("the end of a string"))
		case c == quote:
			return nil
		case c == '\\' && keep:
			c, err = r.readEscape()
		case c == '\\':
			_, err = r.nextByte() // may be an escaped quote
		}
		switch {
		case err != nil:
			return err
		case keep && len(r.token) == maxText:
			return r.lineError(lang.Say("a string of more than %d bytes", maxText), lang.Say("a shorter one"))
		case keep:
			r.token = append(r.token, c)
		}
	}
}

// nextByte reads a byte of a literal.
func (r *textReader) nextByte() (byte, error) {
	if r.pos == r.end {
		if err := r.refill(); errors.Is(err, io.EOF) {
			return 0, r.lineError(lang.Say("the end of the file"), lang.Say("the end of a string"))
		} else if err != nil {
			return 0, err
		}
	}
	r.pos++
	return r.buf[r.pos-1], nil
}

// escapes lists the characters after a backslash, plain their meanings.
const escapes, plain = `abfnrtv\'"?`, "\a\b\f\n\r\t\v\\'\"?"

// readEscape reads an escape sequence behind its backslash. Protobuf escapes non-ASCII text byte by
// byte.
func (r *textReader) readEscape() (byte, error) {
	c, err := r.nextByte()
	if err != nil {
		return 0, err
	}
	if i := strings.IndexByte(escapes, c); i >= 0 {
		return plain[i], nil
	}
	digits, base := 3, 8
	if c == 'x' || c == 'X' {
		digits, base = 2, 16
	} else {
		r.pos-- // c is the first octal digit
	}
	var text []byte
	for len(text) < digits {
		c, err := r.nextByte()
		if err != nil {
			return 0, err
		}
		if _, err := strconv.ParseUint(string(c), base, 8); err != nil {
			r.pos--
			break
		}
		text = append(text, c)
	}
	v, err := strconv.ParseUint(string(text), base, 8)
	if err != nil {
		return 0, r.lineError(lang.Say("the escape %q", `\`+string(text)), lang.Say(`one such as \n or \101`))
	}
	return byte(v), nil
}
