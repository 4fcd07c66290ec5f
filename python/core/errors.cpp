// Errors of the rooms as exceptions of penstock.errors.

#include <new>
#include <system_error>

#include "bind.hpp"
#include "penstock/core/error.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

nb::object error_of(core::ExitCode code, const char* message, const core::InputPlace& place = {}) {
  return nb::module_::import_("penstock.errors")
      .attr("of")(static_cast<int>(code), message, place.file.c_str(), place.line, place.key.c_str());
}

void raise(core::ExitCode code, const char* message, const core::InputPlace& place = {}) {
  if (code == core::ExitCode::interrupted) return PyErr_SetNone(PyExc_KeyboardInterrupt);
  const nb::object error = error_of(code, message, place);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const core::BadInput& e) {
    raise(e.code(), e.what(), e.place());
  } catch (const core::Error& e) {
    raise(e.code(), e.what());
  } catch (const std::system_error& e) {  // a file that fails is not our defect
    raise(core::ExitCode::bad_input, e.what());
  } catch (const std::bad_alloc&) {
    raise(core::ExitCode::limit, "out of memory");
  }
}

}  // namespace

nb::object as_exception(const std::exception_ptr& thrown) {
  if (!thrown) return nb::none();
  try {
    std::rethrow_exception(thrown);
  } catch (const core::BadInput& e) {
    return error_of(e.code(), e.what(), e.place());
  } catch (const core::Error& e) {
    return error_of(e.code(), e.what());
  } catch (const std::exception& e) {
    return error_of(core::ExitCode::internal, e.what());
  }
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator(translate);
}

}  // namespace penstock::python
