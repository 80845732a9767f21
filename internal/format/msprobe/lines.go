package msprobe

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// LinesExt is the extension of the list of ptdbg_ascend, the tool before msprobe. The tensors of
// dump.pkl are the arrays in the folder dump.
const LinesExt = ".pkl"

// maxLine is the maximum length of a line, in bytes.
const maxLine = 1 << 20

// lineStart matches the start of a line with a tensor or with the lines of the script.
var lineStart = regexp.MustCompile(`(?m)^\["[^"\\]+_(forward|backward)_[^"\\]+", *[\[0-9]`)

// HasLines reports whether a file begins like a list of ptdbg_ascend. Pickles have the extension too.
func HasLines(head []byte) bool { return lineStart.Match(head) }

// lineName matches the name of a tensor: Functional_conv2d_0_forward_input.0, Torch_max_3_backward_output.
var lineName = regexp.MustCompile(`^([A-Za-z0-9]+?)(?:_(.+))?_([0-9]+)_(forward|backward)_(input|output|stack_info)((?:\.[0-9]+)*)$`)

// Lines is the list of ptdbg_ascend.
type Lines struct {
	// Entries are the calls by the names that msprobe gives them, in the order of the file.
	Entries []*Entry
	// Stacks are the lines of the script by the names of calls.
	Stacks map[string]*Stack

	at map[string]*Entry
	reader
}

// ReadLines reads the list of ptdbg_ascend: each line is a JSON array with the name of a tensor, the
// step, the MD5, type and shape, and max, min, mean and, in later versions, norm; or with the name of
// a call and the lines of the script. It calls bad for lines that do not fit and leaves them out.
// With an error the lines before it are valid.
func ReadLines(in io.Reader, bad func(line int, found, wanted lang.Sentence)) (*Lines, error) {
	l := &Lines{Stacks: map[string]*Stack{}, at: map[string]*Entry{}}
	text := bufio.NewScanner(in)
	text.Buffer(nil, maxLine)
	line, size := 0, 0
	for text.Scan() {
		line++
		if size += len(text.Bytes()) + 1; size > maxFile {
			return l, lang.Errorf("line %d: found more than %d bytes, wanted a smaller file", line, maxFile)
		}
		if len(strings.TrimSpace(text.Text())) == 0 {
			continue
		}
		if err := l.readLine(text.Bytes()); err != nil {
			found, wanted := misfitOf(text.Text(), err)
			bad(line, found, wanted)
		}
	}
	for _, e := range l.Entries {
		setIndexes(e.Leaves)
	}
	if err := text.Err(); errors.Is(err, bufio.ErrTooLong) {
		return l, lang.Errorf("line %d: found more than %d bytes, wanted a shorter line", line+1, maxLine)
	} else if err != nil {
		return l, lang.Errorf("line %d: %w", line+1, err)
	}
	return l, nil
}

// misfitOf returns the texts found and wanted in an invalid line.
func misfitOf(line string, err error) (found, wanted lang.Sentence) {
	if at := new(jsonpos.Error); errors.As(err, &at) && at.Err == nil {
		return lang.Say("column %d has %s", at.Column, lang.Say(at.Found)), lang.Say("want %s", lang.Say(at.Wanted))
	}
	return lang.Plain(strconv.Quote(jsonpos.Shorten(line, 60))), lang.Error(err)
}

// readLine reads a line.
func (l *Lines) readLine(text []byte) error {
	l.Reader = jsonpos.ReaderOf(text)
	l.Python = true
	t := &leaf{reader: &l.reader}
	var name []string
	var script []string
	members := 0
	err := l.Array(func(i int) (err error) {
		members++
		switch {
		case i == 0:
			name, err = l.lineName()
		case i == 1 && name[5] == "stack_info":
			script, err = l.readScript()
		default:
			err = t.readLineMember(i)
		}
		return err
	})
	if err = cmp.Or(err, l.End()); err != nil {
		return err
	}
	if members == 0 {
		return errShortLine()
	}
	api := name[1] + "." + name[3] + "." + name[4]
	if name[2] != "" {
		api = Name{name[1] + "." + name[2], name[3], Direction(name[4])}.InDirection(Direction(name[4]))
	}
	switch {
	case script != nil:
		l.Stacks[api] = &Stack{Lines: script, Script: scriptLine(script)}
		return nil
	case members < 6 || name[5] == "stack_info":
		return errShortLine()
	}
	return l.addTensor(api, name, t)
}

func errShortLine() error { return lang.Errorf("want name, step, MD5, type, shape, statistics") }

// lineName reads the name of a tensor and returns its parts: api type, name, number, direction, side
// and index.
func (l *Lines) lineName() ([]string, error) {
	var text string
	if err := l.readText(&text); err != nil {
		return nil, err
	}
	if parts := lineName.FindStringSubmatch(text); parts != nil {
		return parts, nil
	}
	return nil, lang.Errorf("want a name such as Functional_relu_0_forward_input.0")
}

// readScript reads the frames of a call, each as file, line, function and source, in the form of
// stack.json.
func (l *Lines) readScript() (lines []string, err error) {
	lines = []string{}
	err = l.Array(func(int) error {
		frame, err := sideReader{l.Reader}.readTexts()
		if len(frame) >= 3 {
			source := strings.Join(frame[3:], " ")
			lines = append(lines, "File "+frame[0]+", line "+frame[1]+", in "+frame[2]+", \n "+source)
		}
		return err
	})
	return lines, err
}

// readLineMember reads a member of the line of a tensor behind its name.
func (t *leaf) readLineMember(i int) error {
	isText := t.Reader.Kind() == jsonpos.String
	switch {
	case i == 2 && isText:
		return t.readText(&t.Digest)
	case i == 3:
		return t.internedText(&t.DType)
	case i == 4 && !isText: // the shape of a number is a text
		return t.readShape()
	case i == 5:
		return t.Array(func(k int) error {
			to := []*Number{&t.Max, &t.Min, &t.Mean, &t.Norm}
			if kind := t.Reader.Kind(); k >= len(to) || kind != jsonpos.Number && kind != jsonpos.Bool {
				return t.Skip() // an empty list or "Nan": the statistic was not computed
			}
			return t.readNumber(to[k])
		})
	}
	return t.Skip()
}

// addTensor adds the tensor or number of a line to its call.
func (l *Lines) addTensor(api string, name []string, t *leaf) error {
	e := l.at[api]
	if e == nil {
		e = &Entry{API: api}
		l.at[api], l.Entries = e, append(l.Entries, e)
	}
	leaf := Leaf{Kind: tensor.Input, Path: cmp.Or(strings.TrimPrefix(name[6], "."), "0")}
	if name[5] == "output" {
		leaf.Kind = tensor.Output
	}
	leaf.setName(api + "." + name[5])
	for i := range e.Leaves {
		if e.Leaves[i].Name == leaf.Name {
			return lang.Errorf("want one line of the name %s", name[0])
		}
	}
	if class, ok := strings.CutPrefix(t.DType, "<class '"); ok {
		leaf.Value = &Value{Type: strings.TrimSuffix(class, "'>"), Kind: t.Max.Kind, Text: strconv.FormatFloat(t.Max.Value, 'g', -1, 64)}
		if t.Max.Kind == jsonpos.Bool {
			leaf.Value.Text = pythonText(jsonpos.Bool, strconv.FormatBool(t.Max.Value != 0))
		}
	} else {
		t.DataName = name[0] + ".npy"
		leaf.Tensor = &t.Tensor
	}
	e.Leaves = append(e.Leaves, leaf)
	return nil
}
