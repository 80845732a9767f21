package msprobe

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
)

// Stack is the lines of Python behind a call, the innermost first.
type Stack struct {
	// Lines are as the file has them: File PATH, line N, in FUNCTION, \n SOURCE.
	Lines []string
	// Script is the first of them that is not in a library, as FILE:LINE; empty for
	// none.
	Script string
}

// ReadStack reads stack.json and returns the stacks of the calls by their names. The
// file has them by those names, or in groups of several calls with the same lines.
func ReadStack(in io.Reader) (map[string]*Stack, error) {
	r := newSideReader(in)
	stacks := make(map[string]*Stack)
	err := r.Object(func(key string) error {
		apis := []string{key}
		var lines []string
		grouped := false
		err := r.Array(func(i int) error {
			switch kind := r.Kind(); {
			case i == 0 && kind == jsonpos.Array:
				grouped = true
				var err error
				apis, err = r.texts()
				return err
			case i == 1 && grouped:
				var err error
				lines, err = r.texts()
				return err
			case kind == jsonpos.String:
				_, line, err := r.Scalar()
				lines = append(lines, line)
				return err
			}
			return r.Skip()
		})
		if err != nil {
			return err
		}
		s := &Stack{Lines: lines, Script: scriptLine(lines)}
		for _, api := range apis {
			stacks[api] = s
		}
		return nil
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, placed(err)
	}
	return stacks, nil
}

// sideReader reads a file beside dump.json.
type sideReader struct{ *jsonpos.Reader }

func newSideReader(in io.Reader) sideReader {
	r := jsonpos.NewReader(in, maxFile)
	r.Python = true
	return sideReader{r}
}

// texts reads an array of texts; what is none is passed over.
func (r sideReader) texts() (all []string, err error) {
	if r.Kind() != jsonpos.Array {
		return nil, r.Skip()
	}
	err = r.Array(func(int) error {
		if r.Kind() != jsonpos.String {
			return r.Skip()
		}
		_, text, err := r.Scalar()
		all = append(all, text)
		return err
	})
	return all, err
}

// stackLine is a line of a stack.
var stackLine = regexp.MustCompile(`^\s*File "?([^"\n]+?)"?, line ([0-9]+)`)

// libraries are folders that no script of the user lies in.
var libraries = []string{"site-packages", "dist-packages"}

// scriptLine is the first line that is in no library, else the first one.
func scriptLine(lines []string) string {
	first := ""
	for _, line := range lines {
		m := stackLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		path := strings.FieldsFunc(m[1], func(c rune) bool { return c == '/' || c == '\\' })
		if len(path) == 0 {
			continue
		}
		short := path[len(path)-1] + ":" + m[2]
		if !slices.ContainsFunc(libraries, func(l string) bool { return slices.Contains(path, l) }) {
			return short
		}
		if first == "" {
			first = short
		}
	}
	return first
}

// Parents are the modules that calls and modules are in, by the names of those.
type Parents map[string]string

// microSteps is the key of construct.json that is no call.
const microSteps = "megatron_micro_step_number"

// ReadConstruct reads construct.json: the module around every call, or null; in a list
// with the number of the step where there are several of them.
func ReadConstruct(in io.Reader) (Parents, error) {
	r := newSideReader(in)
	parents := make(Parents)
	err := r.Object(func(api string) error {
		parent := ""
		var err error
		switch r.Kind() {
		case jsonpos.String:
			_, parent, err = r.Scalar()
		case jsonpos.Array:
			err = r.Array(func(i int) error {
				if i > 0 || r.Kind() != jsonpos.String {
					return r.Skip()
				}
				var err error
				_, parent, err = r.Scalar()
				return err
			})
		case jsonpos.Null, jsonpos.Number:
			err = r.Skip()
		default:
			err = r.Unexpected("the name of a module, or null")
		}
		if err == nil && parent != "" && api != microSteps {
			parents[api] = parent
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, placed(err)
	}
	return parents, nil
}

// maxDepth is how many modules may be around a call.
const maxDepth = 100

// Modules are the modules around a call, the outermost first.
func (p Parents) Modules(api string) []string {
	var all []string
	for parent := p[api]; parent != "" && len(all) < maxDepth && !slices.Contains(all, parent); parent = p[parent] {
		all = append(all, parent)
	}
	slices.Reverse(all)
	return all
}
