// Package config reads settings from the environment and from a configuration file, and reports the
// source of each. Only this package uses viper. It does not interpret flags or settings: commands
// pass their names and apply the values.
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

// Options says where settings come from. The zero value has no sources.
type Options struct {
	// File is a configuration file that must exist and replaces all others.
	File string
	// User is the path of dumptool's folder in the user's configuration folder.
	User string
	// Working is the working folder. A configuration file there may have come with the data, so it
	// is not read: Unread returns its path.
	Working string
	// LookupEnv is os.LookupEnv, or nil for an empty environment. Environ is os.Environ, or nil.
	LookupEnv func(name string) (string, bool)
	Environ   func() []string
}

// Variables returns the names of dumptool's variables in the environment that have a value.
func (opt Options) Variables() (names []string) {
	if opt.Environ == nil {
		return nil
	}
	for _, entry := range opt.Environ() {
		if name, text, _ := strings.Cut(entry, "="); text != "" && strings.HasPrefix(name, EnvName(nil, "")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// UserFolder returns dumptool's folder in the user's configuration folder, empty if there is none.
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
	// Source is the source of the value, as the start of an error text: "environment
	// DUMPTOOL_CONVERT_JOBS" or "dumptool.yaml: convert.jobs".
	Source string
}

// Load reads the configuration file of opt. A missing file in the user's folder is no error.
func Load(opt Options) (*Settings, error) {
	s := &Settings{lookupEnv: opt.LookupEnv}
	if s.lookupEnv == nil {
		s.lookupEnv = func(string) (string, bool) { return "", false }
	}
	path := opt.File
	if path == "" {
		path = configPath(opt.User)
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

// configPath returns the path of the configuration file in a folder, empty if it does not exist.
// Reading reports an existing file that cannot be read.
func configPath(folder string) string {
	path := filepath.Join(folder, FileName)
	if _, err := os.Stat(path); folder == "" || err != nil {
		return ""
	}
	return path
}

// IgnoredFile returns the configuration file of the working folder, empty if it does not exist or Load
// reads it.
func (opt Options) IgnoredFile() string {
	path := configPath(opt.Working)
	if path == "" || opt.File != "" || isSameFile(path, configPath(opt.User)) {
		return ""
	}
	return path
}

// isSameFile reports whether two paths name one file.
func isSameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// Lookup returns the setting of a flag. command is the path of the command without the program,
// empty for flags of the program itself. An empty environment variable counts as unset.
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

// Schema lists the settings of a program or a command.
type Schema struct {
	// Flags are the long names of its own flags.
	Flags []string
	// Commands are its subcommands.
	Commands map[string]Schema
}

// UnknownError is a setting in a file that no command has.
type UnknownError struct {
	// Source names the file and the setting. Path has the words of the command, then the flag.
	Source string
	Path   []string
	// Suggestion is the nearest known name, or empty.
	Suggestion string
}

// Error implements error.
func (e *UnknownError) Error() string { return e.Source + ": unknown setting" }

// Check returns an error for the first setting, in the order of names, that is missing in schema,
// and for groups in place of values or the reverse. schema is called only if there is a file:
// collecting the names of all flags is as slow as creating all commands, and most runs have no
// file.
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
			return &UnknownError{Source: f.sourceOf(path), Path: path, Suggestion: suggest(parents, key, known)}
		case isGroup && isCommand:
			if err := f.check(path, group, command); err != nil {
				return err
			}
		case isGroup:
			return lang.Errorf("%s: must be a value, not a group of settings", f.sourceOf(path))
		case !isFlag:
			return lang.Errorf("%s: must be the settings of the command, not a value", f.sourceOf(path))
		case !isScalarOrList(tree[key]):
			return lang.Errorf("%s: the elements of a list must be values", f.sourceOf(path))
		}
	}
	return nil
}

// isScalarOrList reports whether value is a scalar or a list of scalars.
func isScalarOrList(value any) bool {
	list, ok := value.([]any)
	return !ok || !slices.ContainsFunc(list, func(element any) bool {
		switch element.(type) {
		case []any, map[string]any, map[any]any:
			return true
		}
		return false
	})
}

// suggest returns the full name of the known setting nearest to key.
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
	root *yaml.Node     // group of all settings
	tree map[string]any // keys in lower case with dashes
}

// keySeparator keeps viper from splitting keys: no key contains this byte.
const keySeparator = "\x00"

// Limits of a file, far beyond hand-written ones. Without them a small file can take minutes: the
// decoder compares all names of a group pairwise, again for each alias of the group, and viper
// looks up every setting from the root.
const (
	maxSize   = 64 << 10
	maxNames  = 500 // per group
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
		return nil, f.settingsError(root)
	}
	return root, nil
}

// settingsError returns the error for a line without a setting.
func (f *file) settingsError(at *yaml.Node) error {
	return lang.Errorf("%s:%d: settings must be lines of the form name: value", f.path, at.Line)
}

// syntaxError formats the position in a parser's error as editors do: "dumptool.yaml:3: mapping
// values are not allowed in this context".
func (f *file) syntaxError(err error) error {
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	position := regexp.MustCompile(`line (\d+): (.*)`)
	if m := position.FindStringSubmatch(text); m != nil {
		return lang.Errorf("%s:%s: %s", f.path, m[1], m[2])
	}
	return lang.Errorf("%s: %s", f.path, strings.TrimPrefix(text, "yaml: "))
}

// outline measures a file before it is decoded.
type outline struct {
	*file
	levels map[*yaml.Node]int // number of levels by node
}

// check returns an error if the file exceeds the limits.
func (o outline) check(root *yaml.Node) error {
	if _, err := o.measure(root); err != nil {
		return err
	}
	for i := 0; i < len(root.Content); i += 2 {
		key := root.Content[i]
		if levels := 1 + o.levels[resolveAlias(root.Content[i+1])]; levels > maxLevels {
			return lang.Errorf("%s:%d: %s: %d levels of settings, at most %d are possible", o.path, key.Line, key.Value, levels, maxLevels)
		}
	}
	return nil
}

// measure returns the number of levels of groups in a node; 0 for a list of values.
func (o outline) measure(node *yaml.Node) (levels int, err error) {
	node = resolveAlias(node)
	if levels, known := o.levels[node]; known {
		return levels, nil
	}
	o.levels[node] = 0 // 0 for a node that contains itself, which the decoder refuses
	switch node.Kind {
	case yaml.MappingNode:
		levels, err = o.measureGroup(node)
	case yaml.SequenceNode:
		for _, element := range node.Content {
			n, err := o.measure(element)
			if err != nil {
				return 0, err
			}
			if resolveAlias(element).Kind != yaml.ScalarNode {
				levels = max(levels, 1+n)
			}
		}
	}
	o.levels[node] = levels
	return levels, err
}

// measureGroup measures a group of settings. It normalises the names to the spelling of flags, and refuses
// repeated names.
func (o outline) measureGroup(node *yaml.Node) (levels int, err error) {
	if names := len(node.Content) / 2; names > maxNames {
		return 0, lang.Errorf("%s:%d: %d settings in one group, at most %d are possible", o.path, node.Line, names, maxNames)
	}
	lines := map[string]int{}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || strings.Contains(key.Value, keySeparator) {
			return 0, o.settingsError(key)
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
			n-- // the names of a merged group belong to this group
		}
		levels = max(levels, n)
	}
	return 1 + levels, nil
}

// resolveAlias resolves an alias.
func resolveAlias(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// sourceOf returns file, line, column and name of a setting. A setting in a merged group has the
// position of the group.
func (f *file) sourceOf(path []string) string {
	at, group := "", f.root
	for _, name := range path {
		i := 0
		for group = resolveAlias(group); i < len(group.Content) && group.Content[i].Value != name; {
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
		return Value{}, false // the group of a command named like the flag
	}
	v := Value{Source: f.sourceOf(append(command[:len(command):len(command)], flag))}
	if list, ok := value.([]any); ok {
		v.List = make([]string, len(list))
		for i, element := range list {
			v.List[i] = formatScalar(element)
		}
		v.Text = strings.Join(v.List, ",")
		return v, true
	}
	v.Text = formatScalar(value)
	return v, true
}

// formatScalar formats a YAML scalar as on a command line.
func formatScalar(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case time.Time:
		// YAML reads a word that looks like a date as a time: restore the word.
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339Nano)
	default:
		return fmt.Sprint(v)
	}
}
