// Package config reads settings from the environment and from configuration
// files and says where each came from. It is the only place that knows viper.
// It knows neither flags nor what a setting means: the commands hand it their
// names and apply the values.
package config

import (
	"os"
	"path/filepath"
	"strings"
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
