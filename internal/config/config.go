// Package config reads settings from the environment and from a configuration
// file and says where each came from. It is the only place that knows viper.
// It knows neither flags nor what a setting means: the commands hand it their
// names and apply the values.
package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"dumptool/internal/lang"
	"dumptool/internal/safefile"
)

// FileName is the name of configuration files.
const FileName = "dumptool.yaml"

// Options says where settings come from. A zero Options has none.
type Options struct {
	// File is a configuration file that must exist and replaces all others.
	File string
	// User is dumptool's folder in the user's configuration.
	User string
	// Working is the working folder. A file that lies there may have come with the data
	// and is not read: Unread names it.
	Working string
	// LookupEnv is os.LookupEnv, or nil for an empty environment.
	LookupEnv func(name string) (string, bool)
}

// UserFolder returns dumptool's folder in the user's configuration, empty where there
// is none.
func UserFolder() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "dumptool")
}

// Settings are the values found by Load.
type Settings struct {
	lookupEnv func(string) (string, bool)
	file      *file // nil for none
}

// Value is one setting.
type Value struct {
	// Text is the value in the form of a command line.
	Text string
	// List holds the elements if the setting is a list in a file, else nil.
	List []string
	// Source says where the value comes from, as the start of an error text:
	// "environment DUMPTOOL_CONVERT_JOBS" or "dumptool.yaml: convert.jobs".
	Source string
}

// Load reads the configuration file of opt. A folder without one is fine.
func Load(opt Options) (*Settings, error) {
	s := &Settings{lookupEnv: opt.LookupEnv}
	if s.lookupEnv == nil {
		s.lookupEnv = func(string) (string, bool) { return "", false }
	}
	path := opt.File
	if path == "" {
		path = inFolder(opt.User)
	}
	if path == "" {
		return s, nil
	}
	s.file = &file{path: path}
	if err := s.file.read(); err != nil {
		return nil, err
	}
	return s, nil
}

// inFolder returns the path of the configuration file in a folder, empty where there is
// none. A file that is there and cannot be read is an error of reading.
func inFolder(folder string) string {
	path := filepath.Join(folder, FileName)
	if _, err := os.Stat(path); folder == "" || err != nil {
		return ""
	}
	return path
}

// Unread returns the configuration file of the working folder, empty where there is none
// or Load reads it.
func (opt Options) Unread() string {
	path := inFolder(opt.Working)
	if path == "" || opt.File != "" || sameFile(path, inFolder(opt.User)) {
		return ""
	}
	return path
}

// sameFile reports whether two paths name one file.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// Lookup returns the setting of a flag. command is the path of the command
// without the program, empty for flags of the program itself. An environment
// variable that is set to nothing counts as not set.
func (s *Settings) Lookup(command []string, flag string) (Value, bool) {
	name := EnvName(command, flag)
	if text, ok := s.lookupEnv(name); ok && text != "" {
		return Value{Text: text, Source: "environment " + name}, true
	}
	if s.file == nil {
		return Value{}, false
	}
	return s.file.lookup(command, flag)
}

// EnvName returns the environment variable of a flag, such as
// DUMPTOOL_OVERFLOW_ANALYZE_CPU_DIR.
func EnvName(command []string, flag string) string {
	words := append([]string{"dumptool"}, command...)
	name := strings.Join(append(words, flag), "_")
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Schema names the settings that a program or a command has.
type Schema struct {
	// Flags are the long names of its own flags.
	Flags []string
	// Commands are its subcommands.
	Commands map[string]Schema
}

// UnknownError is a setting in a file that no command knows.
type UnknownError struct {
	// Source names the file and the setting.
	Source string
	// Suggestion is the known name nearest to it, or empty.
	Suggestion string
}

// Error implements error.
func (e *UnknownError) Error() string { return e.Source + ": unknown setting" }

// Check looks for the first setting, in the order of names, that schema does not have. It
// also reports groups where a value belongs, and the reverse. schema is called only where
// there is a file: most runs have none, and to gather the names of all flags takes as long
// as to make all commands.
func (s *Settings) Check(schema func() Schema) error {
	if s.file == nil {
		return nil
	}
	return s.file.check(nil, s.file.tree, schema())
}

func (f *file) check(parents []string, tree map[string]any, schema Schema) error {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		path := append(parents[:len(parents):len(parents)], key)
		group, isGroup := tree[key].(map[string]any)
		command, isCommand := schema.Commands[key]
		isFlag := slices.Contains(schema.Flags, key)
		switch {
		case !isFlag && !isCommand:
			known := slices.Concat(slices.Sorted(slices.Values(schema.Flags)), slices.Sorted(maps.Keys(schema.Commands)))
			return &UnknownError{Source: f.source(path), Suggestion: suggest(parents, key, known)}
		case isGroup && isCommand:
			if err := f.check(path, group, command); err != nil {
				return err
			}
		case isGroup:
			return lang.Errorf("%s: must be a value, not a group of settings", f.source(path))
		case !isFlag:
			return lang.Errorf("%s: must be the settings of the command, not a value", f.source(path))
		case !plain(tree[key]):
			return lang.Errorf("%s: the elements of a list must be values", f.source(path))
		}
	}
	return nil
}

// IsFile reports whether the value of a flag that may be a name or a file of settings is a
// file: one that ends as such files do.
func IsFile(value string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(value)))
}

// plain reports whether value is a scalar or a list of scalars.
func plain(value any) bool {
	list, ok := value.([]any)
	return !ok || !slices.ContainsFunc(list, func(element any) bool {
		switch element.(type) {
		case []any, map[string]any, map[any]any:
			return true
		}
		return false
	})
}

// suggest returns the full name of the known setting that is nearest to key.
func suggest(parents []string, key string, known []string) string {
	near := lang.Nearest(key, known)
	if near == "" {
		return ""
	}
	return strings.Join(append(parents[:len(parents):len(parents)], near), ".")
}

// file is one configuration file.
type file struct {
	path string
	root *yaml.Node     // the group of all settings
	tree map[string]any // keys in lower case, dashes for underscores
}

// keySeparator keeps viper from splitting keys: no key holds this byte.
const keySeparator = "\x00"

// Limits of a file, far beyond what is written by hand. Without them a small file can
// take minutes: the decoder compares all names of a group with each other, also for
// each alias of it, and viper looks every setting up from the root.
const (
	maxSize   = 64 << 10
	maxNames  = 500 // of a group
	maxLevels = 4   // as in overflow.scan.merge.format
)

// read reads the settings.
func (f *file) read() error {
	root, err := f.parse()
	if err != nil || root == nil {
		return err
	}
	if err := (outline{f, map[*yaml.Node]int{}}).check(root); err != nil {
		return err
	}
	f.root = root
	var settings map[string]any
	if err := root.Decode(&settings); err != nil {
		return f.syntaxError(err)
	}
	v := viper.NewWithOptions(viper.KeyDelimiter(keySeparator))
	if err := v.MergeConfigMap(settings); err != nil {
		return lang.Errorf("%s: %w", f.path, err)
	}
	f.tree = v.AllSettings()
	return nil
}

// parse returns the group of all settings, nil if the file has none.
func (f *file) parse() (*yaml.Node, error) {
	in, err := safefile.Open(f.path)
	if err != nil {
		return nil, lang.Errorf("cannot read the configuration: %w", err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	switch {
	case err != nil:
		return nil, lang.Errorf("cannot read the configuration: %w", err)
	case len(data) > maxSize:
		return nil, lang.Errorf("%s: a configuration of more than %d KiB", f.path, maxSize>>10)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, f.syntaxError(err)
	}
	if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		return nil, nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, f.notSettings(root)
	}
	return root, nil
}

// notSettings is the error of a line that has no setting.
func (f *file) notSettings(at *yaml.Node) error {
	return lang.Errorf("%s:%d: settings must be lines of the form name: value", f.path, at.Line)
}

// syntaxError puts the position that the parser names where editors look for
// it: "dumptool.yaml:3: mapping values are not allowed in this context".
func (f *file) syntaxError(err error) error {
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	position := regexp.MustCompile(`line (\d+): (.*)`)
	if m := position.FindStringSubmatch(text); m != nil {
		return lang.Errorf("%s:%s: %s", f.path, m[1], m[2])
	}
	return lang.Errorf("%s: %s", f.path, strings.TrimPrefix(text, "yaml: "))
}

// outline is what a file looks like before it is decoded.
type outline struct {
	*file
	levels map[*yaml.Node]int // of groups, by what was measured
}

// check looks for more than a configuration can have.
func (o outline) check(root *yaml.Node) error {
	if _, err := o.measure(root); err != nil {
		return err
	}
	for i := 0; i < len(root.Content); i += 2 {
		key := root.Content[i]
		if levels := 1 + o.levels[target(root.Content[i+1])]; levels > maxLevels {
			return lang.Errorf("%s:%d: %s: %d levels of settings, at most %d are possible", o.path, key.Line, key.Value, levels, maxLevels)
		}
	}
	return nil
}

// measure counts the levels of groups in a node. A list of values has none.
func (o outline) measure(node *yaml.Node) (levels int, err error) {
	node = target(node)
	if levels, known := o.levels[node]; known {
		return levels, nil
	}
	o.levels[node] = 0 // for one that contains itself, which the decoder refuses
	switch node.Kind {
	case yaml.MappingNode:
		levels, err = o.group(node)
	case yaml.SequenceNode:
		for _, element := range node.Content {
			n, err := o.measure(element)
			if err != nil {
				return 0, err
			}
			if target(element).Kind != yaml.ScalarNode {
				levels = max(levels, 1+n)
			}
		}
	}
	o.levels[node] = levels
	return levels, err
}

// group measures a group of settings. It spells their names as flags are spelled, and
// finds those that are there twice.
func (o outline) group(node *yaml.Node) (levels int, err error) {
	if names := len(node.Content) / 2; names > maxNames {
		return 0, lang.Errorf("%s:%d: %d settings in one group, at most %d are possible", o.path, node.Line, names, maxNames)
	}
	lines := map[string]int{}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || strings.Contains(key.Value, keySeparator) {
			return 0, o.notSettings(key)
		}
		key.Value = strings.ToLower(strings.ReplaceAll(key.Value, "_", "-"))
		if line, twice := lines[key.Value]; twice {
			return 0, lang.Errorf("%s:%d: %s: given twice, in line %d too", o.path, key.Line, key.Value, line)
		}
		lines[key.Value] = key.Line
		n, err := o.measure(node.Content[i+1])
		if err != nil {
			return 0, err
		}
		if key.Tag == "!!merge" {
			n-- // its names are those of this group
		}
		levels = max(levels, n)
	}
	return 1 + levels, nil
}

// target is what an alias stands for, else the node itself.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// source names a setting of the file and its line and column. One of a group that is
// merged has those of the group.
func (f *file) source(path []string) string {
	at, group := "", f.root
	for _, name := range path {
		i := 0
		for group = target(group); i < len(group.Content) && group.Content[i].Value != name; {
			i += 2
		}
		if i >= len(group.Content) {
			break
		}
		at = fmt.Sprintf(":%d:%d", group.Content[i].Line, group.Content[i].Column)
		group = group.Content[i+1]
	}
	return f.path + at + ": " + strings.Join(path, ".")
}

// lookup returns the setting of a flag.
func (f *file) lookup(command []string, flag string) (Value, bool) {
	group := f.tree
	for _, word := range command {
		group, _ = group[word].(map[string]any)
	}
	value, ok := group[flag]
	if !ok {
		return Value{}, false
	}
	if _, ok := value.(map[string]any); ok {
		return Value{}, false // the group of a command with the name of a flag
	}
	v := Value{Source: f.source(append(command[:len(command):len(command)], flag))}
	if list, ok := value.([]any); ok {
		v.List = make([]string, len(list))
		for i, element := range list {
			v.List[i] = text(element)
		}
		v.Text = strings.Join(v.List, ",")
		return v, true
	}
	v.Text = text(value)
	return v, true
}

// text returns a YAML scalar as it would be written on a command line.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case time.Time:
		// What looks like a date becomes one; it was meant as a word.
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339Nano)
	default:
		return fmt.Sprint(v)
	}
}
