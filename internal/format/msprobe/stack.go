package msprobe

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
)

// Stack are the lines of Python of a call, the innermost first.
type Stack struct {
	// Lines have the form of the file: File PATH, line N, in FUNCTION, \n SOURCE.
	Lines []string
	// Script is the first line outside of libraries, as FILE:LINE; empty for none.
	Script string
}

// ReadStack reads stack.json and returns the stacks by names of calls. The file has one entry for
// each name, or for each group of calls with the same lines.
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
				apis, err = r.readTexts()
				return err
			case i == 1 && grouped:
				var err error
				lines, err = r.readTexts()
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
		return nil, addOffset(err)
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

// readTexts reads an array of texts and skips other values.
func (r sideReader) readTexts() (all []string, err error) {
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

// stackLine matches a line of a stack.
var stackLine = regexp.MustCompile(`^\s*File "?([^"\n]+?)"?, line ([0-9]+)`)

// libraryFolders are folders of libraries, not of the user's scripts.
var libraryFolders = []string{"site-packages", "dist-packages"}

// scriptLine returns the first line outside of libraries, else the first line.
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
		if !slices.ContainsFunc(libraryFolders, func(l string) bool { return slices.Contains(path, l) }) {
			return short
		}
		if first == "" {
			first = short
		}
	}
	return first
}

// Parents maps calls and modules to the module around them.
type Parents map[string]string

// microSteps is the only key of construct.json that is not a call.
const microSteps = "megatron_micro_step_number"

// ReadConstruct reads construct.json: for every call the module around it, or null, or a list of
// the module and the number of the micro step.
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
		return nil, addOffset(err)
	}
	return parents, nil
}

// maxDepth bounds the modules around a call.
const maxDepth = 100

// Modules returns the modules around a call, the outermost first.
func (p Parents) Modules(api string) []string {
	var all []string
	for parent := p[api]; parent != "" && len(all) < maxDepth && !slices.Contains(all, parent); parent = p[parent] {
		all = append(all, parent)
	}
	slices.Reverse(all)
	return all
}
