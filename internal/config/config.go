// Package config reads settings from the environment and from configuration
// files and says where each came from. It is the only place that knows viper.
// It knows neither flags nor what a setting means: the commands hand it their
// names and apply the values.
package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// FileName is the name of configuration files.
const FileName = "dumptool.yaml"

// Options says where settings come from. A zero Options has none.
type Options struct {
	// File is a configuration file that must exist and replaces all others.
	File string
	// Working is the working folder. Its file may have come with the data that lies
	// there: only what the schema calls harmless counts in it.
	Working string
	// User is dumptool's folder in the user's configuration, all of whose file counts,
	// also where it is the working folder. A setting in Working hides the same in User.
	User string
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
	files     []*file
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

// Load reads the configuration files of opt. A folder without one is fine.
func Load(opt Options) (*Settings, error) {
	s := &Settings{lookupEnv: opt.LookupEnv}
	if s.lookupEnv == nil {
		s.lookupEnv = func(string) (string, bool) { return "", false }
	}
	for _, f := range opt.files() {
		if err := f.read(); err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	return s, nil
}

// files are those that are there, before they are read. One that is there but cannot
// be read is no reason to go on without it: reading reports it.
func (opt Options) files() []*file {
	if opt.File != "" {
		return []*file{{path: opt.File}}
	}
	var files []*file
	add := func(folder string, found bool) {
		path := filepath.Join(folder, FileName)
		if _, err := os.Stat(path); folder != "" && err == nil {
			files = append(files, &file{path: path, found: found})
		}
	}
	if !sameFolder(opt.Working, opt.User) {
		add(opt.Working, true)
	}
	add(opt.User, false)
	return files
}

// sameFolder reports whether two names are those of one folder.
func sameFolder(a, b string) bool {
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
	for _, f := range s.files {
		if v, ok := f.lookup(command, flag); ok {
			return v, true
		}
	}
	return Value{}, false
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
	// Flags are the long names of its own flags, and whether they are harmless: they
	// count in a file that was only found in the working folder too.
	Flags map[string]bool
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

// FoundError is a setting that is not harmless in a file that was only found in the
// working folder, where it may have come with the data.
type FoundError struct {
	// Source names the file and the setting.
	Source string
	// Env is the environment variable of the setting.
	Env string
}

// Error implements error.
func (e *FoundError) Error() string {
	return e.Source + ": not taken from a file that lies in the working folder"
}

// Check looks for settings in the files that schema does not have, or not for a file
// in the working folder, the first one in the order of names. It also reports groups
// where a value belongs, and the reverse. schema is called once where there are files: most runs have none, and
// to gather the names of all flags takes as long as to make all commands.
func (s *Settings) Check(schema func() Schema) error {
	if len(s.files) == 0 {
		return nil
	}
	known := schema()
	for _, f := range s.files {
		if err := f.check(nil, f.tree, known); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) check(parents []string, tree map[string]any, schema Schema) error {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		path := append(parents[:len(parents):len(parents)], key)
		group, isGroup := tree[key].(map[string]any)
		command, isCommand := schema.Commands[key]
		harmless, isFlag := schema.Flags[key]
		switch {
		case !isFlag && !isCommand:
			known := slices.Concat(slices.Sorted(maps.Keys(schema.Flags)), slices.Sorted(maps.Keys(schema.Commands)))
			return &UnknownError{Source: f.source(path), Suggestion: suggest(parents, key, known)}
		case isGroup && isCommand:
			if err := f.check(path, group, command); err != nil {
				return err
			}
		case isGroup:
			return lang.Errorf("%s: must be a value, not a group of settings", f.source(path))
		case !isFlag:
			return lang.Errorf("%s: must be the settings of the command, not a value", f.source(path))
		case f.found && (!harmless || namesFile(tree[key])):
			return &FoundError{Source: f.source(path), Env: EnvName(parents, key)}
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

// namesFile reports whether a value, or an element of it, names a file: @FILE, or a file
// of settings.
func namesFile(value any) bool {
	if list, ok := value.([]any); ok {
		return slices.ContainsFunc(list, namesFile)
	}
	text, ok := value.(string)
	return ok && (strings.HasPrefix(text, "@") || IsFile(text))
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
