"""Programs of any machine as text (``.tasm``) and as bytes (``.tbin``), by the types of their dataclasses' fields."""
